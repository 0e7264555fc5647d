"""Vector fields in the plane, with and without E(2) equivariance."""
