"""Translation-invariant transformer: attention whose bias sees relative inputs only."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Bool, Float, Mask, Outputs, PRNGKeyArray
from geomndp.linalg import zero_masked
from geomndp.nets.attention import attend
from geomndp.nets.base import check_compute
from geomndp.nets.covariates import CovariateEmbedding, covariate_embedding
from geomndp.nets.layers import (
    TimeEmbedding,
    check_groups,
    clean,
    embed_times,
    linear,
    rms_norm,
    zeroed,
)
from geomndp.nets.relative_position_bias import (
    AbstractTransformer,
    RelativeBias,
    TransformerConfig,
)
from geomndp.nets.target_times import target_embedding


@renamed_arguments(implementation="attention_backend")
@dataclasses.dataclass(frozen=True, kw_only=True)
class RelativeAttentionConfig(TransformerConfig):
    """Hyperparameters of `RelativeAttention`: those of `TransformerConfig`, and some of its own.

    Args:
        num_input_fields: Fields of the outputs' type that enter: 1 for the noised values, 2 with
            the score of a Gaussian process beside them (see `NetworkScore.base`).
        attention_backend: `implementation` of jax.nn.dot_product_attention; "cudnn" has no
            forward-mode derivative. None is "folded" on processors (see `attend`).
        num_groups: Groups of neighbouring outputs, of one size, with times and masks of their own.
        target_times: Whether points have a second time, that to which a flow map leads (see
            `geomndp.nets.target_times`).
    """

    attention_backend: str | None = None
    num_groups: int = 1
    num_input_fields: int = 1
    target_times: bool = False

    def __post_init__(self):
        super().__post_init__()
        _validation.at_least(1, num_input_fields=self.num_input_fields)
        check_backend(self.compute_dtype, self.attention_backend)
        check_groups(self.num_groups, self.output_dim)


def check_backend(compute_dtype: str | None, attention_backend: str | None) -> None:
    """Raise ValueError for an unknown dtype or backend, and for one that lacks the other.

    cuDNN takes bfloat16 alone; folded attention would take its softmax in it.
    """
    check_compute(compute_dtype)
    _validation.one_of("attention_backend", attention_backend, (None, "xla", "cudnn", "folded"))
    if attention_backend == "cudnn" and compute_dtype != "bfloat16":
        raise ValueError(f"expected compute_dtype 'bfloat16' with cudnn, got {compute_dtype!r}")
    if attention_backend == "folded" and compute_dtype == "bfloat16":
        raise ValueError("expected compute_dtype None or 'float32' with folded, got 'bfloat16'")


class SelfAttention(eqx.Module):
    """Attention of n tokens to each other, each of b sets on its own.

    Args:
        width: Channels of the tokens.
        inner: Channels of queries, keys, values and outputs, divided among the heads.
        heads: Number of heads.
        dtype: Dtype of the parameters.
        key: Random key.
    """

    project: eqx.nn.Linear
    merge: eqx.nn.Linear
    num_heads: int = eqx.field(static=True)

    def __init__(self, width: int, inner: int, heads: int, *, dtype: str, key: PRNGKeyArray):
        project_key, merge_key = jr.split(key)
        self.project = eqx.nn.Linear(width, 3 * inner, use_bias=False, dtype=dtype, key=project_key)
        self.merge = eqx.nn.Linear(inner, inner, use_bias=False, dtype=dtype, key=merge_key)
        self.num_heads = heads

    def __call__(
        self,
        tokens: Float[Array, "b n c"],
        *,
        bias: Float[Array, "h n n"] | None = None,
        mask: Mask | None = None,
        pairs: Bool[Array, "n n"] | None = None,
        backend: str | None = None,
    ) -> Float[Array, "b n o"]:
        """Return one vector per token; arguments as those of `attend`."""
        sets, n, _ = tokens.shape
        split = jnp.split(linear(self.project, tokens), 3, axis=-1)
        query, key, value = (part.reshape(sets, n, self.num_heads, -1) for part in split)
        options = {"bias": bias, "mask": mask, "pairs": pairs, "backend": backend}
        mixed = attend(query, key, value, **options)
        return linear(self.merge, mixed.reshape(sets, n, -1))


class TransformerBlock(eqx.Module):
    """Pre-norm transformer block; the residual stream keeps its dtype."""

    attention: SelfAttention
    widen: eqx.nn.Linear
    narrow: eqx.nn.Linear

    def __init__(self, width: int, heads: int, expansion: int, *, dtype: str, key: PRNGKeyArray):
        attention_key, widen_key, narrow_key = jr.split(key, 3)
        options = {"use_bias": False, "dtype": dtype}
        self.attention = SelfAttention(width, width, heads, dtype=dtype, key=attention_key)
        self.widen = eqx.nn.Linear(width, expansion * width, **options, key=widen_key)
        self.narrow = eqx.nn.Linear(expansion * width, width, **options, key=narrow_key)

    def __call__(
        self,
        h: Float[Array, "n c"],
        bias: Float[Array, "h n n"],
        mask: Mask | None,
        dtype: jnp.dtype,
        backend: str | None,
        pairs: Bool[Array, "n n"] | None = None,
    ) -> Float[Array, "n c"]:
        """Attend, then transform each token, with matrix products in `dtype`."""
        tokens = rms_norm(h).astype(dtype)[None]
        mixed = self.attention(tokens, bias=bias, mask=mask, pairs=pairs, backend=backend)
        h = h + mixed[0].astype(h.dtype)
        inner = jax.nn.gelu(linear(self.widen, rms_norm(h).astype(dtype)))
        return h + linear(self.narrow, inner).astype(h.dtype)


class RelativeAttention(AbstractTransformer[RelativeAttentionConfig], tag="net/relative-attention"):
    """Tokens of outputs and times; inputs enter through a bias of x_i - x_j in each layer and head.

    Unlike inputs relative to the centre of mass, nothing moves when points are added or masked.
    Arguments are those of `RelativeAttentionConfig`.

    Example:
        `net = gn.nets.RelativeAttention(1, 1, width=64, key=jr.key(0))`
    """

    embed: eqx.nn.Linear
    time: TimeEmbedding
    bias: RelativeBias
    blocks: list[TransformerBlock]
    head: eqx.nn.Linear
    covariates: CovariateEmbedding | None
    target_time: TimeEmbedding | None

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        self.config = c = RelativeAttentionConfig(*args, **options)
        embed_key, time_key, bias_key, block_key, head_key = jr.split(key, 5)
        self.embed = eqx.nn.Linear(self.value_dim, c.width, dtype=c.dtype, key=embed_key)
        self.time = TimeEmbedding(c.width, c.num_groups, dtype=c.dtype, key=time_key)
        self.blocks = [
            TransformerBlock(c.width, c.num_heads, c.expansion, dtype=c.dtype, key=key)
            for key in jr.split(block_key, c.num_layers)
        ]
        self.bias = RelativeBias(c, key=bias_key)
        self.head = zeroed(eqx.nn.Linear(c.width, c.output_dim, dtype=c.dtype, key=head_key))
        self.covariates = covariate_embedding(c, key=key)
        self.target_time = target_embedding(c, c.num_groups, key=key)

    @property
    def num_relative_inputs(self) -> int:
        """All inputs are relative, covariates are not."""
        return self.config.num_inputs

    @property
    def num_groups(self) -> int:
        return self.config.num_groups

    def call_prepared(self, prepared, t, x, y, mask=None) -> Outputs:
        t, x, y, mask = points = clean(self, t, x, y, mask)
        dtype = jnp.dtype(self.config.compute_dtype or y.dtype)
        covariates = x[:, self.config.num_inputs :]
        h = linear(self.embed, y) + embed_times(self, t, mask)
        h = h if self.covariates is None else h + self.covariates(covariates)
        biases = self._biases(x, y.dtype) if prepared is None else prepared
        for block, bias in zip(self.blocks, biases, strict=True):
            h = block(h, bias, points.rows, dtype, self.config.attention_backend)
        return zero_masked(linear(self.head, rms_norm(h)), mask)
