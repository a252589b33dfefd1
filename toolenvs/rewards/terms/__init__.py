"""Terms of a reward, one file each; a page lists them in `[[reward]]`, and their sum is the reward of a turn."""
