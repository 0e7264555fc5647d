"""One file a published table or figure: what is trained, how it is scored and drawn."""
