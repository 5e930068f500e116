"""tutti lab figures: results into documents, and that this project's own documents agree with the stored figures."""

import json
import os
import unittest

from support import CommandTest

SOURCE = os.environ["TUTTI_SOURCE"]


class Figures(CommandTest):
    def setUp(self):
        super().setUp()
        os.makedirs(self.local("docs"))
        self.write("docs/figures.json", "{}\n")
        self.write(
            "docs/figures.toml",
            '[[table]]\nname = "path"\n[[table.row]]\nwhat = "rewrites"\nfigures = ["data.write_ratio"]\n',
        )
        self.write("README.md", "<!-- figures path -->\n<!-- /figures -->\n")
        self.write("docs/more.md", "reaches <!-- figure data.write_ratio -->?<!-- /figure -->\n")

    def write(self, name, text):
        with open(self.local(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.local(name), encoding="utf-8") as file:
            return file.read()

    def figures(self, *arguments, **options):
        return self.tutti("lab", "figures", "--root", self.local("."), *arguments, **options)

    def result(self, name, ratio):
        self.write(name, json.dumps({"benchmark": "data", "measured": {"write_ratio": ratio}}))
        return self.local(name)

    def test_results_reach_every_document(self):
        self.figures(self.result("one.json", 0.5), self.result("two.json", 0.75))
        self.assertIn("| rewrites | `tutti bench data` | 0.5 to 0.75 |", self.read("README.md"))
        self.assertEqual(self.read("docs/more.md"), "reaches <!-- figure data.write_ratio -->0.5 to 0.75<!-- /figure -->\n")
        self.figures("--check")

    def test_check_names_the_document_that_differs(self):
        self.figures(self.result("one.json", 0.5))
        self.write("docs/more.md", self.read("docs/more.md").replace("0.5", "0.9"))
        before = self.read("docs/more.md")
        self.fails("lab", "figures", "--root", self.local("."), "--check", says="more.md")
        self.assertEqual(self.read("docs/more.md"), before)
        self.figures()
        self.figures("--check")

    def test_what_is_no_result_is_refused(self):
        self.write("bad.json", "{}")
        self.fails("lab", "figures", "--root", self.local("."), self.local("bad.json"), says="not a result")
        self.fails("lab", "figures", "--root", self.local("."), self.local("none.json"), says="none.json")
        self.assertEqual(self.read("docs/figures.json"), "{}\n")

    def test_the_documents_of_this_project_agree(self):
        self.tutti("lab", "figures", "--root", SOURCE, "--check")


if __name__ == "__main__":
    unittest.main()
