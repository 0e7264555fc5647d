"""Samplers by name, and from one line of text."""

import pytest

from geomndp import samplers


@pytest.mark.parametrize("name", samplers.sampler_names())
def test_every_name_gives_a_sampler_with_its_defaults(name):
    sampler = samplers.by_name(name)
    assert isinstance(sampler, samplers.AbstractSampler)
    options = samplers.sampler_options(name)
    assert options.get("steps", options.get("calls")) == sampler.steps
    as_text = ",".join(f"{option}={value}" for option, value in options.items())
    assert samplers.from_text(f"{name}:{as_text}") == sampler


def test_every_exported_sampler_has_a_name():
    exported = [getattr(samplers, name) for name in samplers.__all__]
    concrete = {
        cls
        for cls in exported
        if isinstance(cls, type)
        and issubclass(cls, samplers.AbstractSampler)
        and not cls.__name__.startswith("Abstract")
    }
    assert concrete == {type(samplers.by_name(name)) for name in samplers.sampler_names()}


def test_options_are_read_as_the_default_s_type():
    sampler = samplers.from_text("langevin:steps=7, context=path ,step_scale=1", steps=9)
    assert sampler == samplers.Langevin(9, context="path", step_scale=1.0)
    assert type(sampler.step_scale) is float


WRONG = {
    "ddim": "sampler to be one of 'amortised', .*, got 'ddim'",
    "amortised:stps=3": "option of amortised to be one of 'steps', .*, got 'stps'",
    "amortised:steps=1.5": "expected a whole number for steps, got '1.5'",
    "langevin:step_scale=much": "expected a number for step_scale, got 'much'",
    "amortised:steps": "expected OPTION=VALUE after amortised:, got 'steps'",
    "amortised:steps=3,steps=4": "expected steps once after amortised:, got it twice",
    "amortised:steps=0": "steps to be a whole number >= 1, got 0",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_text(text):
    with pytest.raises(ValueError, match=WRONG[text]):
        samplers.from_text(text)
