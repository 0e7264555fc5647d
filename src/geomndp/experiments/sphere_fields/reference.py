"""Expected log-likelihoods of the exact process, as `exact.expected_nats` gives them. No JAX."""

EXACT = {
    ("curl-free", 0.35): (0.493, -1.96),
    ("div-free", 0.35): (0.493, -1.96),
    ("hodge", 0.35): (-0.001, -2.42),
    ("scalar", 0.35): (0.166, -0.98),
    ("curl-free", 0.2): (-0.360, -2.62),
    ("div-free", 0.2): (-0.360, -2.62),
    ("hodge", 0.2): (-1.407, -2.77),
    ("scalar", 0.2): (-0.355, -1.30),
}
"""Law and lengthscale -> nats per point of the joint and of the diagonal process, 200 contexts."""
