"""Walks through the admin's pages: log in, lists, search, add, change, delete, history."""

import django
from django.test import Client

django.setup()
from django.contrib.auth.models import Group, User  # noqa: E402

client = Client()
assert client.login(username="admin", password="secret")
for page in ("", "auth/user/", "auth/user/?q=adm&o=-2.1", "auth/user/?is_staff__exact=1", "auth/group/add/", "sites/site/", "flatpages/flatpage/"):
    answer = client.get("/admin/" + page)
    assert answer.status_code == 200, (page, answer.status_code)
for number in range(30):
    answer = client.post("/admin/auth/group/add/", {"name": f"group {number} ☃", "permissions": ["1", "2"]})
    assert answer.status_code == 302, answer.content[:2000]
assert client.get("/admin/auth/group/?q=group+2").content.count(b"field-__str__") == 12
group = Group.objects.get(name="group 7 ☃")
assert client.post(f"/admin/auth/group/{group.pk}/change/", {"name": "renamed", "permissions": ["3"]}).status_code == 302
assert list(Group.objects.get(pk=group.pk).permissions.values_list("pk", flat=True)) == [3]
assert client.get(f"/admin/auth/group/{group.pk}/history/").status_code == 200
assert client.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"}).status_code == 302
assert Group.objects.count() == 29
answer = client.post("/admin/auth/user/add/", {"username": "Zoë", "password1": "Wq8-klmn-3", "password2": "Wq8-klmn-3", "usable_password": "true"})
assert answer.status_code == 302, answer.content[:2000]
assert User.objects.get(username="ZOE").username == "Zoë"
