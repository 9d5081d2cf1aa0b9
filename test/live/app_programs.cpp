// SPDX-License-Identifier: BSD-3-Clause
//
// Real programs: the same output and exit status with and without the library, and nothing lost.
#include "app_recording.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "capture/preload/collector/preload_source.hpp"

namespace iotrail::live {

namespace {

struct Program {
  const char* name;
  const char* needs; // without this command the test is skipped
  const char* script;
};

std::ostream& operator<<(std::ostream& out, const Program& program) {
  return out << program.name;
}

std::string text_of_file(const std::string& name) {
  std::ifstream file(name);
  return {std::istreambuf_iterator<char>(file), {}};
}

int run_bare(const std::string& script, const std::string& directory, const std::string& output) {
  const pid_t pid = fork();
  if (pid == 0) {
    const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, 1);
    dup2(file, 2);
    if (chdir(directory.c_str()) == 0)
      execlp("bash", "bash", "-c", script.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

constexpr Program kPrograms[] = {
    {"bash", "bash",
     "for i in 1 2 3; do echo $i | cat > f$i; done; cat f*; (cd / && pwd); read x < f2; echo $x; "
     "exec 5<f3; cat <&5; exec 5<&-; printf '%s\\n' a b | sort -r; exit 3"},
    {"tar", "tar",
     "mkdir d; for i in $(seq 50); do echo $i > d/$i; done; tar czf a.tgz --mtime=@0 --sort=name "
     "--owner=0 --group=0 d; tar tzf a.tgz | wc -l; mkdir o; tar xzf a.tgz -C o; diff -r d o/d && "
     "echo same"},
    {"sqlite3", "sqlite3",
     "sqlite3 t.db 'pragma journal_mode=wal; create table t(x); insert into t values(1),(2); "
     "select sum(x) from t; vacuum; pragma integrity_check;'"},
    {"git", "git",
     "export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' "
     "HOME=$PWD; "
     "git -c init.defaultBranch=m init -q r; cd r; echo x > f; git add f; "
     "git -c user.name=a -c user.email=b commit -qm c; git log --format=%H; cd ..; git clone -q r "
     "s; cat s/f"},
    {"gcc", "gcc", "printf 'int main(void){return 7;}' > m.c; gcc -O2 -o m m.c; ./m; echo $?"},
    {"python3", "python3",
     "python3 -c 'import subprocess,threading,os,tempfile\n"
     "f=tempfile.TemporaryFile(); f.write(b\"abc\"); f.seek(0); print(f.read())\n"
     "print(subprocess.check_output([\"/bin/echo\",\"hi\"],env={}))\n"
     "t=[threading.Thread(target=lambda: open(\"/etc/passwd\").read()) for _ in range(20)]\n"
     "[x.start() for x in t]; [x.join() for x in t]\n"
     "p=os.fork()\n"
     "os._exit(5) if p==0 else print(os.waitpid(p,0)[1])'"},
    {"perl", "perl",
     "perl -e 'open(F,\">x\"); print F \"$_\\n\" for 1..1000; close F; open(F,\"x\"); $s+=$_ while "
     "<F>; "
     "print \"$s\\n\"; print `echo sub`; system(\"echo sys\")'"},
    {"node", "node",
     "node -e 'const fs=require(\"fs\");fs.writeFileSync(\"n\",\"x\".repeat(100000));"
     "fs.readFile(\"n\",(e,d)=>console.log(d.length));"
     "console.log(require(\"child_process\").execSync(\"echo c\").toString())'"},
    {"java", "java", "java -Xshare:auto -version 2>&1 | head -1"},
    {"make", "make",
     "printf 'a b c:\\n\\t@echo $@ > $@; cat $@\\nall: a b c\\n' > Makefile; make -s all"},
    {"static_child", "gcc",
     "printf '#include <stdio.h>\\nint main(void){puts(\"s\");}' > s.c; gcc -static -o s s.c; ./s; "
     "env -i ./s"},
};

} // namespace

class preload_program : public testing::TestWithParam<Program> {};

TEST_P(preload_program, runs_unchanged) {
  const Program& program = GetParam();
  if (std::system((std::string("command -v ") + program.needs + " > /dev/null").c_str()) != 0)
    GTEST_SKIP() << "there is no " << program.needs;
  const ScratchDirectory bare;
  const ScratchDirectory hooked;
  const ScratchDirectory outputs;
  const int status = run_bare(program.script, bare.path().string(), outputs / "bare");
  RunOptions options;
  options.work_directory = hooked.path().string();
  options.output = outputs / "hooked";
  const auto recording = AppRecording::of_command({"bash", "-c", program.script}, options);
  EXPECT_EQ(recording.status(), status);
  EXPECT_EQ(text_of_file(outputs / "hooked"), text_of_file(outputs / "bare"));
  EXPECT_EQ(recording.lost(), 0U);
  EXPECT_EQ(recording.produced(), recording.written());
  EXPECT_GT(recording.written(), 10U);
}

INSTANTIATE_TEST_SUITE_P(all, preload_program, testing::ValuesIn(kPrograms),
                         [](const auto& program) { return std::string(program.param.name); });

TEST(preload_program, static_programs_are_counted) {
  const ScratchDirectory directory;
  const std::string source = directory / "s.c";
  const std::string program = directory / "s";
  std::ofstream(source) << "int main(void) { return 0; }\n";
  ASSERT_EQ(std::system(("gcc -static -o " + program + " " + source).c_str()), 0);
  const auto recording =
      AppRecording::of_command({"bash", "-c", program + "; " + program + "; /bin/true"});
  EXPECT_EQ(recording.counter(IOT_COUNTER_preload_not_followed), 2U);
}

// A program with a limited address space still runs and is still followed.
TEST(preload_program, little_address_space) {
  const auto recording = AppRecording::of_command(
      {"bash", "-c", "ulimit -v 200000; exec cat /etc/passwd > /dev/null"});
  expect_complete(recording);
  EXPECT_GE(OF_FILE(recording, app_read, "/etc/passwd").size(), 1U);
}

TEST(preload_blocker_text, is_reported) {
  const ScratchDirectory directory;
  EXPECT_EQ(capture::preload_blocker_text("/bin/bash"), "");
  EXPECT_EQ(capture::preload_blocker_text(directory / "absent"), "");
  const std::string script = directory / "script";
  std::ofstream(script) << "#! /bin/sh -e\necho\n";
  EXPECT_EQ(capture::preload_blocker_text(script), "");
  const std::string linker = "/lib64/ld-linux-x86-64.so.2";
  EXPECT_EQ(capture::preload_blocker_text(linker), "");
  EXPECT_EQ(capture::preload_blocker_text(linker, {linker, "/bin/bash"}), "");
  const std::string source = directory / "s.c";
  const std::string program = directory / "s";
  std::ofstream(source) << "int main(void) { return 0; }\n";
  ASSERT_EQ(std::system(("gcc -static -o " + program + " " + source).c_str()), 0);
  EXPECT_EQ(capture::preload_blocker_text(program), "it is statically linked");
  EXPECT_EQ(capture::preload_blocker_text(linker, {linker, "--argv0", "x", program}),
            "it is statically linked");
  std::ofstream(script) << "#!" << program << "\n";
  EXPECT_EQ(capture::preload_blocker_text(script), "it is statically linked");
  if (geteuid() == 0) {
    ASSERT_EQ(chown(program.c_str(), 65534, 65534), 0);
    ASSERT_EQ(chmod(program.c_str(), 04755), 0);
    EXPECT_NE(capture::preload_blocker_text(program).find("set-user-ID"), std::string::npos);
  }
  std::fstream elf(program, std::ios::in | std::ios::out | std::ios::binary);
  elf.seekp(4);
  elf.put(1); // ELFCLASS32
  elf.close();
  ASSERT_EQ(chmod(program.c_str(), 0755), 0);
  EXPECT_EQ(capture::preload_blocker_text(program), "it is a 32-bit program");
}

} // namespace iotrail::live
