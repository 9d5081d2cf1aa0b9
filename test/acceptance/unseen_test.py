# SPDX-License-Identifier: BSD-3-Clause
"""Programs without the preload library are named and counted, and do not notice the attempt to load
it."""
import os
import shutil
import subprocess

import harness

APP = ("--layers", "app")
WITH_KERNEL = ("--layers", "app,syscall,process")
READS_OF_CAT = "SELECT count(*) FROM app_read JOIN files USING (file) WHERE path = '/etc/passwd'"

# Executes its arguments past the C library, in a child of its own; without an environment if its
# name ends in "bare".
RAW_EXEC = """
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char** environ;
int main(int argc, char** argv) {
  char* none[] = {0};
  if (fork() == 0) {
    syscall(SYS_execve, argv[1], argv + 1, strstr(argv[0], "bare") ? none : environ);
    _exit(127);
  }
  int status = 0;
  wait(&status);
  return argc > 1 ? WEXITSTATUS(status) : 2;
}
"""


class Unseen(harness.AcceptanceTest):
    def assert_unseen(self, recording, program, why):
        """Named once in the trace, the counters and the report."""
        manifest = recording.manifest
        (named,) = manifest["not_followed"]
        self.assertRegex(named, rf"^\d+ .*{program}: .*{why}")
        self.assertEqual(manifest["counters"]["preload_not_followed"], 1)
        self.assertIn(why, harness.run(harness.IOTRAIL, "report", "--full", recording.path).stdout)
        self.assertNotIn("cannot be preloaded", recording.process.stderr)

    def require_root(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")

    def build(self, name, *options, source="int main(void) { return 0; }\n"):
        program = self.folder / name
        built = subprocess.run(["gcc", "-x", "c", "-", "-o", program, *options], input=source, text=True, check=False,
                               capture_output=True)
        if built.returncode != 0:
            self.skipTest(f"cannot build with {options}")
        return program

    def test_arena_that_was_removed(self):
        """As a recorder of another pid namespace once did, or a script that cleans up /dev/shm."""
        remove = "for name in /dev/shm/iotrail-arena-$PPID-*; do rm -r $name; done; cat /etc/passwd"
        recording = self.record("sh", "-c", remove, options=APP)
        named = recording.manifest["not_followed"]
        self.assertRegex(named[0], "^all that started later: /dev/shm/iotrail-arena-.* was removed meanwhile")
        self.assertGreaterEqual(recording.manifest["counters"]["preload_not_followed"], 1)

    def test_set_user_id_command(self):
        self.require_root()
        program = self.build("setuid")
        shutil.chown(program, "nobody")
        program.chmod(0o4755)
        self.assert_unseen(self.record(program, options=APP), "setuid", "set-user-ID")

    @harness.long
    def test_set_user_id_grandchild_found_in_path(self):
        self.require_root()
        program = self.build("setuid")
        shutil.chown(program, "nobody")
        program.chmod(0o4755)
        recording = self.record("env", f"PATH={self.folder}:{os.environ['PATH']}", "nice", "setuid", options=APP)
        self.assert_unseen(recording, "setuid", "set-user-ID")

    def test_static_program_behind_a_script(self):
        program = self.build("static", "-static")
        script = self.folder / "script"
        script.write_text(f"#!{program}\n")
        script.chmod(0o755)
        self.assert_unseen(self.record("nice", script, options=APP), "script", "statically linked")

    @harness.long
    def test_program_started_by_its_linker(self):
        """The program in the linker's arguments has the library, unless something prevents that."""
        linker = "/lib64/ld-linux-x86-64.so.2"
        for command in ((), ("nice",), ("nice", "env", "-i")):
            for options in ((), ("--inhibit-cache", "--library-path", "/lib/x86_64-linux-gnu")):
                with self.subTest(command=command, options=options):
                    recording = self.record(*command, linker, *options, "/bin/cat", "/etc/passwd", options=("--strict", *APP),
                                            name=f"t{len(command)}{len(options)}")
                    self.assertEqual(recording.manifest["not_followed"], [])
                    self.assertNotIn("will not see", recording.process.stderr)
                    self.assertGreater(int(recording.value(READS_OF_CAT)), 0)

    @harness.long
    def test_linker_of_a_program_that_cannot_have_the_library(self):
        program = self.build("asan", "-fsanitize=address")
        for command in ((), ("nice",)):
            with self.subTest(command=command):
                recording = self.record(*command, "/lib64/ld-linux-x86-64.so.2", program, options=APP, name=f"t{len(command)}")
                self.assert_unseen(recording, "ld-linux-x86-64.so.2", "AddressSanitizer")

    @harness.long
    def test_chroot(self):
        self.require_root()
        root = self.folder / "root"
        for file in ("/bin/cat", "/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"):
            (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, root / file[1:])
        for command in (("chroot", root, "/bin/cat", "/lib64/none"), ("chroot", root, "cat", "/lib64/none")):
            with self.subTest(command=command):
                recording = self.record(*command, options=APP, expect=1, name=f"t{len(str(command))}")
                self.assert_unseen(recording, "cat", "cannot be reached")
                self.assertIn("cat: /lib64/none: No such file or directory", recording.process.stderr)

    @harness.long
    def test_files_opened_after_a_chroot_have_names(self):
        """Without /proc the app layer has the path that the program gave; the kernel knows the
        whole path."""
        root = self.folder / "root"
        (root / "d").mkdir(parents=True)
        script = f"import os; os.chroot({str(root)!r}); os.chdir('/'); open('/f', 'w').write('x' * 7); open('d/g', 'w').write('y' * 7)"
        path_of_writes = "SELECT DISTINCT path FROM operations WHERE layer = 'app' AND class = 'write' AND bytes = 7 ORDER BY path"
        for layers, expected in (("app", ["/f", "d/g"]), ("app,syscall", [f"{root}/d/g", f"{root}/f"])):
            with self.subTest(layers=layers):
                recording = self.record("python3", "-c", script, options=("-l", layers), name=layers)
                self.assertEqual([row["path"] for row in recording.query(path_of_writes)], expected)

    @harness.long
    def test_chroot_keeps_a_library_that_is_there(self):
        self.require_root()
        other = self.build("other.so", "-shared", "-fPIC", source="int other(void) { return 0; }\n")
        root = self.folder / "root"
        for file in ("/usr/bin/env", "/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"):
            (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, root / file[1:])
        (root / str(other)[1:]).parent.mkdir(parents=True)
        shutil.copy(other, root / str(other)[1:])
        recording = self.record("sh", "-c", f"LD_PRELOAD=$LD_PRELOAD:{other} exec chroot {root} /usr/bin/env", options=APP)
        self.assertIn(f"LD_PRELOAD={other}\n", recording.process.stdout)
        self.assert_unseen(recording, "env", "cannot be reached")

    @harness.long
    def test_the_inner_of_two_recordings_has_the_app_layer(self):
        inner = self.folder / "inner.iotrail"
        outer = self.record(harness.IOTRAIL, "record", "-o", inner, "-l", "app", "--", "cat", "/etc/passwd", options=APP)
        self.assert_unseen(outer, "cat", "a recording inside this one")
        seen = harness.Recording(inner, None).value("SELECT count(*) FROM app_open")
        self.assertGreater(int(seen), 0)

    def test_program_executed_past_the_library(self):
        """From the kernel's report: no library in the program announced it."""
        program, static = self.build("raw", source=RAW_EXEC), self.build("static", "-static")
        bare = self.build("bare", source=RAW_EXEC)
        for command, name, why in (((program, static), "static", "statically linked"),
                                   ((bare, "/bin/cat", "/etc/passwd"), "cat", "did not load")):
            with self.subTest(name):
                recording = self.record(*command, options=WITH_KERNEL, name=name)
                self.require(recording, "syscall", "process")
                self.assert_unseen(recording, name, why)

    def test_environment_leads_past_the_library(self):
        program = self.build("raw", source=RAW_EXEC)
        recording = self.record(program, "/bin/cat", "/etc/passwd", options=WITH_KERNEL)
        self.assertEqual(recording.manifest["not_followed"], [])
        self.assertGreater(int(recording.value(READS_OF_CAT)), 0)

    @harness.long
    def test_programs_below_a_static_one(self):
        shell, bare = (self.build(name, "-static", source=RAW_EXEC) for name in ("shell", "bare"))
        with self.subTest("with its environment"):
            recording = self.record("nice", shell, "/bin/cat", "/etc/passwd", options=WITH_KERNEL, name="shell")
            self.require(recording, "syscall", "process")
            self.assert_unseen(recording, "shell", "statically linked")
            self.assertGreater(int(recording.value(READS_OF_CAT)), 0)
        with self.subTest("without"):
            recording = self.record("nice", bare, "/bin/cat", "/etc/passwd", options=WITH_KERNEL, name="bare")
            named = recording.manifest["not_followed"]
            self.assertEqual(len(named), 2, named)
            self.assertRegex(named[1], r"cat: .*did not load")

    def test_static_command_is_named_once(self):
        recording = self.record(self.build("static", "-static"), options=WITH_KERNEL)
        self.assert_unseen(recording, "static", "statically linked")

    def test_only_regular_files_are_opened_to_learn_why(self):
        """A name may stand for something else by then: opening a FIFO waits for its other end, and opening a device may act on it."""
        static = self.build("static", "-static")
        for kind, replace in (("fifo", f"mkfifo {static}"), ("link", f"ln -s /dev/zero {static}")):
            with self.subTest(kind):
                command = f"cp {static} {static}.kept; {static}; rm {static}; {replace}; chmod +x {static}.kept; true"
                recording = self.record("sh", "-c", command, options=APP, name=kind, timeout=harness.PATIENCE_S)
                (named,) = recording.manifest["not_followed"]
                self.assertRegex(named, rf"^\d+ .*{static.name}: ")
                static.unlink()
                shutil.copy(f"{static}.kept", static)

    def test_a_fifo_is_executed_as_without_the_library(self):
        fifo, script = self.folder / "fifo", self.folder / "script"
        os.mkfifo(fifo, 0o755)
        script.write_text(f"#!{fifo}\n")
        script.chmod(0o755)
        for program in (fifo, script):
            with self.subTest(program.name):
                execute = f"import os\ntry: os.execv({str(program)!r}, ['x'])\nexcept PermissionError: print('refused')"
                recording = self.record("python3", "-c", execute, options=APP, name=program.name, timeout=harness.PATIENCE_S)
                self.assertEqual(recording.process.stdout, "refused\n")

    def test_pointers_that_lead_nowhere_are_refused_as_without_the_library(self):
        program = self.build("nowhere", source="""
            #define _GNU_SOURCE
            #include <errno.h>
            #include <fcntl.h>
            #include <stdio.h>
            #include <unistd.h>
            #define TRY(call) (errno = 0, (void)(call), printf("%d\\n", errno))
            int main(void) {
              char *good[] = {"true", 0}, *bad[] = {"true", (char*)16, 0}, **nowhere = (char**)8;
              int file = open("/bin/true", O_RDONLY);
              TRY(execve("/bin/true", good, nowhere)); TRY(execve("/bin/true", nowhere, good));
              TRY(execve("/bin/true", bad, good)); TRY(execve("/bin/true", good, bad));
              TRY(execve((char*)8, good, good)); TRY(execv((char*)8, good));
              TRY(fexecve(file, good, nowhere)); TRY(execveat(AT_FDCWD, (char*)8, good, good, 0));
              TRY(execveat(AT_FDCWD, "/bin/true", nowhere, good, 0));
              fflush(stdout);
              return 0;
            }""")
        bare = harness.run(program)
        self.assertEqual(bare.stdout, "14\n" * 9)
        self.assertEqual(self.record(program, options=APP).process.stdout, bare.stdout)

    def test_an_emptied_environment_stays_empty(self):
        """The recording follows all the same, and so does one more program."""
        for command, expected in ((("env", "-i", "env"), ""), (("env", "-i", "A=1", "/usr/bin/env"), "A=1\n"),
                                  (("env", "-i", "LD_PRELOAD=", "/usr/bin/env"), "LD_PRELOAD=\n"),
                                  (("env", "-i", "/usr/bin/env", "B=2", "sh", "-c", "cat /etc/passwd >/dev/null; exec env"), None)):
            with self.subTest(command=command):
                bare = harness.run(*command)
                self.assertEqual(bare.stdout if expected is None else expected, bare.stdout)
                recording = self.record(*command, options=APP, name=f"t{len(str(command))}")
                self.assertEqual(recording.process.stdout, bare.stdout)
                self.assertEqual(recording.process.stderr.count("ERROR: ld.so"), 0)
                programs = {row["comm"] for row in recording.query("SELECT DISTINCT comm FROM processes")}
                self.assertIn("env", programs)
                if "sh" in command:
                    self.assertGreater(int(recording.value(READS_OF_CAT)), 0)

    def test_strict_heeds_what_may_be_missing(self):
        self.record(self.build("static", "-static"), options=("--strict", *APP), expect=3)
        self.record("true", options=("--strict", *APP), name="seen")

    def test_kernel_names_nothing_where_all_is_seen(self):
        recording = self.record("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do cat /etc/passwd; env true; (exec true); done")
        self.assertEqual(recording.manifest["not_followed"], [])

    def test_nothing_is_named_where_all_is_seen(self):
        recording = self.record("sh", "-c", "cat /etc/passwd; env true", options=APP)
        self.assertEqual(recording.manifest["not_followed"], [])
        self.assertNotIn("preload_not_followed", recording.manifest["counters"])


if __name__ == "__main__":
    harness.main()
