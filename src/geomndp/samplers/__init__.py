"""Samplers: draw functions given observations or none, behind one interface."""

from geomndp._arrays import pad_mask, pad_rows
from geomndp._deprecated import deprecated_names
from geomndp.samplers.adaptive_flow import AdaptiveFlow
from geomndp.samplers.amortised import Amortised, adams, flow
from geomndp.samplers.base import AbstractProgramSampler, AbstractSampler, Info, Samples
from geomndp.samplers.flow_map import FlowMap
from geomndp.samplers.langevin import KineticLangevin, Langevin
from geomndp.samplers.moment_matching import MomentMatching
from geomndp.samplers.problem import (
    Observations,
    Problem,
    check_amortised,
    conditional_dynamics,
    pad_problem,
)
from geomndp.samplers.program import Phase, PointNoise, Program, run, sample_keys
from geomndp.samplers.registry import (
    by_name,
    default_sampler,
    from_text,
    sampler_names,
    sampler_options,
)
from geomndp.samplers.repaint import RePaint, Replacement
from geomndp.samplers.twisted_smc import SMCRuns, TwistedSMC

__all__ = [
    "AbstractProgramSampler",
    "AbstractSampler",
    "AdaptiveFlow",
    "Amortised",
    "FlowMap",
    "Info",
    "KineticLangevin",
    "Langevin",
    "MomentMatching",
    "Observations",
    "Phase",
    "PointNoise",
    "Problem",
    "Program",
    "RePaint",
    "Replacement",
    "SMCRuns",
    "Samples",
    "TwistedSMC",
    "adams",
    "by_name",
    "check_amortised",
    "conditional_dynamics",
    "default_sampler",
    "flow",
    "from_text",
    "pad_mask",
    "pad_problem",
    "pad_rows",
    "run",
    "sample_keys",
    "sampler_names",
    "sampler_options",
]

deprecated_names(
    __name__,
    {
        "Rows": "PointNoise",
        "Runs": "SMCRuns",
        "conditional_field": "conditional_dynamics",
        "held": "conditional_langevin",
        "observations": "problem",
        "context": "context_noising",
    },
)
