"""Makes a sequence with a difference as short as it gets, by leaving out what is not needed."""

import dataclasses
import time


def shrunk(steps, still_differs, seconds=30):
    """The shortest list found in that time for which `still_differs` holds."""
    end = time.monotonic() + seconds
    steps = fewer(steps, still_differs, end)
    steps = simpler(steps, still_differs, end)
    return fewer(steps, still_differs, end)


def fewer(steps, still_differs, end):
    """Leaves out ever shorter stretches of steps."""
    size = max(1, len(steps) // 2)
    while time.monotonic() < end:
        at, removed = 0, False
        while at < len(steps) and time.monotonic() < end:
            candidate = steps[:at] + steps[at + size:]
            if candidate and still_differs(candidate):
                steps, removed = candidate, True
            else:
                at += size
        if size == 1 and not removed:
            break
        size = max(1, size // 2)
    return steps


def simpler(steps, still_differs, end):
    """Steps with fewer commands, commands with fewer and shorter words."""
    for at in range(len(steps)):
        for candidate_step in simpler_steps(steps[at]):
            if time.monotonic() > end:
                return steps
            candidate = [*steps[:at], candidate_step, *steps[at + 1:]]
            if candidate_step != steps[at] and still_differs(candidate):
                steps = candidate
        # What was found may be simplified once more.
        number = 0
        while number < len(steps[at].commands) and time.monotonic() < end:
            steps = fewer_words(steps, at, number, still_differs, end)
            number += 1
    return steps


def simpler_steps(step):
    if step.cuts:
        yield dataclasses.replace(step, cuts=())
    if len(step.commands) > 1 and step.kind == "commands":
        for number in range(len(step.commands)):
            yield dataclasses.replace(step, commands=(step.commands[number],), cuts=())
        for number in reversed(range(len(step.commands))):
            yield dataclasses.replace(step, commands=step.commands[:number] + step.commands[number + 1:], cuts=())


def fewer_words(steps, at, number, still_differs, end):
    command = steps[at].commands[number]
    size = max(1, len(command) // 2)
    while size and time.monotonic() < end:
        position = 1
        while position < len(steps[at].commands[number]) and time.monotonic() < end:
            words = steps[at].commands[number]
            candidate = replaced(steps, at, number, words[:position] + words[position + size:])
            if still_differs(candidate):
                steps = candidate
            else:
                position += size
        size //= 2
    for position, word in enumerate(steps[at].commands[number]):
        for shorter in (word[:len(word) // 2], word[:1]) if len(word) > 40 else ():
            words = list(steps[at].commands[number])
            words[position] = shorter
            candidate = replaced(steps, at, number, tuple(words))
            if time.monotonic() < end and still_differs(candidate):
                steps = candidate
    return steps


def replaced(steps, at, number, words):
    step = steps[at]
    commands = step.commands[:number] + (words,) + step.commands[number + 1:]
    return [*steps[:at], dataclasses.replace(step, commands=commands, cuts=()), *steps[at + 1:]]
