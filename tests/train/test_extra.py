import subprocess
import sys


def test_without_torch_the_package_says_what_to_install():
    program = "import sys; sys.modules['torch'] = None\nimport toolenvs\ntry:\n    import toolenvs.train.losses\n"
    program += "except toolenvs.errors.MissingExtraError as error:\n    print(error)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'toolenvs[train]'" in ran.stdout
