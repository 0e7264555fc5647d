"""The exact Gaussian law of a field drawn by patches, from dense algebra: the oracle."""

import numpy as np

from geomndp.patches.context import context_of


def scheme_law(covariance, layout, observed=None, y=None, noise=0.0):
    """Mean (n,) and covariance (n, n) of one output in the order of the patches' stages.

    Args:
        covariance: From points (n, d), (m, d) to the covariance of the function, shape (n, m),
            with that of its noise where two points are the same row of the same list.
        layout: Patches.
        observed: Inputs (m, d) of observations.
        y: Their values (m,).
        noise: Variance of independent noise of every value.

    Returns:
        Inputs of all points in that order, their mean and covariance.
    """
    observed = np.zeros((0, 1)) if observed is None else observed
    y = np.zeros(0) if y is None else y
    where, inputs = {}, []
    mean, joint = np.zeros(0), np.zeros((0, 0))

    def gram(x):
        return covariance(x, x) + noise * np.eye(len(x))

    for i in [i for stage in layout.stages for i in stage]:
        patch = layout.patches[i]
        context = context_of(layout, patch, observed)
        groups = zip(context.drawn.patches, context.drawn.rows, strict=True)
        drawn = np.asarray([where[b, r] for b, rows in groups for r in rows], int)[context.chosen]
        x = layout.inputs(patch)
        targets = layout.targets(patch)
        given = np.concatenate([observed[context.observed], context.drawn.x[context.chosen]])
        num_observed = len(context.observed)
        weights = np.linalg.solve(gram(given), covariance(given, x[targets])).T
        own = gram(x[targets]) - weights @ covariance(given, x[targets])
        known, carried = weights[:, :num_observed], weights[:, num_observed:]
        new_mean = known @ y[context.observed] + carried @ mean[drawn]
        cross = carried @ joint[drawn]
        block = own + carried @ joint[np.ix_(drawn, drawn)] @ carried.T
        joint = np.block([[joint, cross.T], [cross, block]])
        where |= {(i, int(row)): len(mean) + k for k, row in enumerate(targets)}
        mean = np.concatenate([mean, new_mean])
        inputs.append(x[targets])
    return np.concatenate(inputs), mean, joint
