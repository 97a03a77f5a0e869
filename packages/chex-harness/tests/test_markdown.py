def readme(pytester, text):
    pytester.path.joinpath("README.md").write_text(text)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "README.md")


def test_later_blocks_see_the_names_of_earlier_ones(pytester):
    text = "```python\nx = 2\n```\n```python\n>>> y = x + 1\n>>> y\n3\n```\n"
    text += "```python\nassert y == 3\n```\n"
    readme(pytester, text).assert_outcomes(passed=3)


def test_a_failing_block_names_its_line(pytester):
    result = readme(pytester, "# t\n\n```python\nx = 1\nassert x == 2\n```\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*README.md:5*", "AssertionError*"])


def test_a_wrong_output_shows_both(pytester):
    result = readme(pytester, "```python\n>>> 1 + 1\n3\n```\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["Expected:", "    3", "Got:", "    2"])


def test_blocks_in_other_languages_do_not_run(pytester):
    readme(pytester, "```\nfalse\n```\n```bash\nfalse\n```\n").assert_outcomes()


def test_a_readme_that_nobody_names_is_left_alone(pytester):
    pytester.path.joinpath("README.md").write_text("```python\nassert False\n```\n")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", ".")
    result.assert_outcomes()


def test_testpaths_name_it_too(pytester):
    pytester.makeini("[pytest]\ntestpaths = README.md")
    pytester.path.joinpath("README.md").write_text("```python\nx = 1\n```\n")
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
