"""Every alert has a section with steps in the runbook, and every section has an alert.

usage: runbook_test.py
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs/administration"


class Runbook(unittest.TestCase):
    def setUp(self):
        self.alerts = re.findall(r"(?m)^\s+- alert: (\S+)$", (ROOT / "deploy/prometheus/rules.yml").read_text())
        text = (PAGES / "admin.md").read_text()
        runbook = text[text.index("\n## Runbook\n"):]
        parts = re.split(r"(?m)^### (.+)$", runbook)
        self.sections = dict(zip(parts[1::2], parts[2::2]))

    def test_alerts_and_sections_are_the_same_in_the_same_order(self):
        self.assertGreater(len(self.alerts), 10)
        self.assertEqual(list(self.sections), self.alerts)

    def test_each_section_has_steps(self):
        for name, section in self.sections.items():
            self.assertRegex(section, r"(?m)^1\. ", name)

    def test_sections_that_are_referred_to_are_there(self):
        for name in set(re.findall(r"see (Dtrain\w+)", "".join(self.sections.values()), re.IGNORECASE)):
            self.assertIn(name, self.sections)

    def test_links_lead_somewhere(self):
        for page in ("admin.md", "slurm.md", "kubernetes.md"):
            for target, anchor in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", (PAGES / page).read_text()):
                path = PAGES / (target or page)
                self.assertTrue(path.exists(), f"{page}: {target}")
                if anchor:
                    headings = re.findall(r"(?m)^#+ (.+)$", path.read_text())
                    slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
                    self.assertIn(anchor, slugs, f"{page}: {target}")


if __name__ == "__main__":
    unittest.main()
