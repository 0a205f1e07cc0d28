"""The examples of a README, run one after another: the blocks of `python` with prompts. Each must print what stands below it."""

import doctest
import re


def run(file, address, names=None):
    with open(file) as opened:
        text = opened.read()
    globs = dict(names or {})
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    prompts = [block for block in blocks if block.startswith(">>> ")]
    assert prompts, f"{file} has no examples"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    told = []
    for block in prompts:
        block = block.replace("http://localhost:8306", address)
        # The runner forgets what a test has defined, but for what is in these.
        test = doctest.DocTestParser().get_doctest(block, globs, file, file, 0)
        runner.run(test, clear_globs=False, out=told.append)
        globs = test.globs
    assert runner.failures == 0, "".join(told)
