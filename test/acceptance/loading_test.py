# SPDX-License-Identifier: BSD-3-Clause
"""The kernel accepts every program, whatever is recorded. Each selection makes programs of its own,
and one might be too large, too deep or unproven. What a machine forbids or lacks is another
matter."""
import json
import os
import re

import harness

# Errors by which the kernel's verifier refuses a program: unproven, too large or too deep,
# malformed, without memory for it.
REFUSED_BY_CHECK = re.compile(r"\((EACCES|E2BIG|EINVAL|ENOMEM|EFAULT|ENOSPC|EPROTO|ENOTSUPP)\)")
# iotrail loads a program that reads a second argument of this trace point, and else one that does
# not.
TRIED = "fs_reserve"
# Alone, a layer's programs must do everything themselves. `process` can be recorded wherever any
# layer can.
WITH = "process"
# Options that make the programs larger, one at a time, largest first: an emulated machine has no
# time for more.
LARGEST = 2
CHOICES = (("--operations", "read,fsync"), ("--dir", "/etc"), ("--sample", "1/10"), ("--comm", "true"), ("--uid", "0"), ("--file", "/etc/passwd"),
           ("--exclude-dir", "/etc"), ("--min-latency", "1us"), ("--min-size", "1"), ("--pseudo",))


class Loading(harness.AcceptanceTest):
    def layers(self):
        """Layers of the kernel with at least one event that this machine allows."""
        (source,) = (source for source in json.loads(harness.run(harness.IOTRAIL, "doctor", "--json").stdout)["sources"] if source["source"] == "kernel")
        layers = sorted({hook["event"].split("_")[0] for hook in source["hooks"] if hook["hook"]})
        if not layers:
            self.skipTest("this machine does not allow the kernel source")
        return layers

    def assert_taken(self, verb, *options):
        path = self.folder / f"{len(list(self.folder.iterdir()))}.iotrail"
        process = harness.run(harness.IOTRAIL, verb, "-o", path, *options, "--", "true")
        self.assertEqual(process.returncode, 0, process.stderr)
        for hook in harness.Recording(path, process).manifest["hooks"]:
            if hook["event"] == TRIED and hook["hook"]:
                continue
            self.assertNotRegex(hook["reason"], REFUSED_BY_CHECK, hook["event"])
        self.assertNotRegex(process.stderr, REFUSED_BY_CHECK)

    @harness.long
    def test_each_layer_alone(self):
        for layer in self.layers():
            for verb in ("record", "stat"):
                with self.subTest(layer=layer, verb=verb):
                    self.assert_taken(verb, "--layers", f"{WITH},{layer}")

    @harness.long
    def test_all_layers_with_each_choice(self):
        layers = ",".join(self.layers())
        for choice in CHOICES[:LARGEST] if os.environ.get("IOTRAIL_VM") else CHOICES:
            for verb in ("record", "stat"):
                if verb == "stat" and choice[0].startswith("--min"):
                    continue  # a verb without this option
                with self.subTest(choice=choice, verb=verb):
                    self.assert_taken(verb, "--layers", layers, *choice)

    def test_all_events(self):
        self.layers()
        for verb in ("record", "stat"):
            with self.subTest(verb=verb):
                self.assert_taken(verb, "--events", "all")


if __name__ == "__main__":
    harness.main()
