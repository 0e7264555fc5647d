"""Neural processes beside diffusion models: the same functions, joint and marginal likelihoods."""
