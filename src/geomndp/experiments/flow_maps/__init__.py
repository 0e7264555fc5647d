"""Students of shipped models, which sample by flow maps in one to a few evaluations."""
