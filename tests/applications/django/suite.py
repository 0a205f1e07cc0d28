"""Settings for the framework's own tests, whose runner says a line for each test."""

import os
import unittest

from django.test.runner import DiscoverRunner

TO = {
    "ENGINE": "django.db.backends.mysql", "USER": os.environ["DB_USER"], "HOST": os.environ["DB_HOST"], "PORT": os.environ["DB_PORT"],
    "OPTIONS": {"charset": "utf8mb4"},
}
DATABASES = {
    "default": TO | {"NAME": os.environ["DB_NAME"], "TEST": {"NAME": os.environ["DB_NAME"] + "_suite"}},
    "other": TO | {"NAME": os.environ["DB_NAME"] + "_o", "TEST": {"NAME": os.environ["DB_NAME"] + "_other"}},
}
SECRET_KEY = "a suite of a test"
USE_TZ = False
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


class Lines(unittest.TextTestResult):
    def addSuccess(self, test):
        print(f"ok {test.id()}", flush=True)

    def say(self, test, error):
        said = " ".join(str(error[1]).split())[:300]
        print(f"FAILED {getattr(test, 'test_case', test).id()}: {error[0].__name__}: {said}", flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.say(test, error)

    addError = addFailure

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.say(test, error)

    def addSkip(self, test, reason):
        print(f"skipped {test.id()}: ", flush=True)


class Runner(DiscoverRunner):
    def get_resultclass(self):
        return Lines


TEST_RUNNER = "suite.Runner"
