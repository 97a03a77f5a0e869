import hypothesis

hypothesis.settings.register_profile(
    "ci", derandomize=True, max_examples=25, deadline=None, database=None
)
hypothesis.settings.load_profile("ci")
