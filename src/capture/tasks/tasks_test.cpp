// SPDX-License-Identifier: BSD-3-Clause
#include "capture/tasks/tasks.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "capture/selection/cgroups.hpp"
#include "capture/selection/containers.hpp"
#include "capture/tasks/job_environment.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::capture {
namespace {

constexpr std::uint64_t kOtherNamespace = 7;
constexpr std::uint64_t kLaterNs = 10 * kTaskPatienceNs;

Task self() {
  return {static_cast<iot_u32>(getpid()), static_cast<iot_u32>(gettid()), 0};
}

Task ended() {
  const pid_t pid = fork();
  if (pid == 0)
    _exit(0);
  waitpid(pid, nullptr, 0);
  return {static_cast<iot_u32>(pid), static_cast<iot_u32>(pid), 0};
}

class TasksTest : public ::testing::Test {
protected:
  TasksTest() {
    folder_ = std::filesystem::temp_directory_path() / "iotrail-tasks-XXXXXX";
    std::string pattern = folder_.string();
    folder_ = mkdtemp(pattern.data());
    writer_ = std::move(*store::TraceWriter::create(folder_ / "t.iotrail", {}));
  }
  ~TasksTest() override { std::filesystem::remove_all(folder_); }

  static rows::processes row(iot_u32 pid, const char* command) {
    rows::processes row;
    row.pid = pid;
    row.command = command;
    return row;
  }

  // Rows in the table `processes`.
  std::size_t rows_written() {
    store::Manifest manifest;
    EXPECT_TRUE(writer_->finish(manifest).has_value());
    writer_.reset();
    const auto reader = store::TraceReader::open(folder_ / "t.iotrail");
    EXPECT_TRUE(reader.has_value());
    std::size_t rows = 0;
    for (const store::BlockInfo& block : (*reader)->blocks())
      rows += block.kind == IOT_KIND_processes ? block.rows : 0;
    return rows;
  }

  // A column of these rows after they are written: Numbers or Texts.
  template <class Values> Values column(std::string_view name) {
    const auto reader = store::TraceReader::open(folder_ / "t.iotrail");
    EXPECT_TRUE(reader.has_value());
    Values values;
    for (const store::BlockInfo& block : (*reader)->blocks()) {
      const store::TableInfo* table = (*reader)->table(block.kind);
      if (table->name != "processes")
        continue;
      const auto columns = (*reader)->read(block);
      EXPECT_TRUE(columns.has_value());
      const Values& read =
          std::get<Values>(columns->at(static_cast<std::size_t>(table->column(name))));
      values.insert(values.end(), read.begin(), read.end());
    }
    return values;
  }

  std::filesystem::path folder_;
  std::unique_ptr<store::TraceWriter> writer_;
  Tasks tasks_;
};

} // namespace

TEST_F(TasksTest, task_of_another_namespace_is_found_by_the_kernels_word) {
  tasks_.add_task(kOtherNamespace, 1, self());
  const auto found = tasks_.find({kOtherNamespace, 1, 1}, 0);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->pid, self().pid);
  EXPECT_FALSE(tasks_.find({kOtherNamespace + 1, 1, 1}, 0).has_value());
}

TEST_F(TasksTest, ended_task_is_not_taken_for_the_next_of_its_ids) {
  tasks_.add_task(kOtherNamespace, 1, ended());
  EXPECT_FALSE(tasks_.find({kOtherNamespace, 1, 1}, 0).has_value());
  EXPECT_TRUE(tasks_.last_known({kOtherNamespace, 1, 1}).has_value());
  tasks_.add_task(kOtherNamespace, 1, self());
  EXPECT_EQ(tasks_.find({kOtherNamespace, 1, 1}, 0)->tid, self().tid);
}

TEST_F(TasksTest, process_that_did_nothing_yet_runs_by_its_variable) {
  const std::string variable = "IOTRAIL_TASKS_TEST=" + folder_.string();
  tasks_.expect_variables({variable});
  EXPECT_TRUE(tasks_.running().empty());
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0); // closed by the exec: the variable is visible soon after
  const pid_t pid = fork();
  if (pid == 0) {
    std::string words[] = {"sleep", "100", variable};
    char* const arguments[] = {words[0].data(), words[1].data(), nullptr};
    char* const environment[] = {words[2].data(), nullptr};
    execve("/bin/sleep", arguments, environment);
    _exit(1);
  }
  close(ready[1]);
  char none = 0;
  EXPECT_EQ(read(ready[0], &none, 1), 0);
  close(ready[0]);
  std::vector<std::string> running;
  for (int i = 0; i < 10'000 && running.empty(); ++i, usleep(1000))
    running = tasks_.running();
  EXPECT_EQ(running, std::vector{fmt::format("{} sleep", pid)});
  kill(pid, SIGKILL);
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(tasks_.running().empty());
}

TEST_F(TasksTest, announcement_waits_for_the_kernels_word) {
  tasks_.expect_kernel();
  tasks_.note_announcement(row(10, "from inside"), true, 0);
  EXPECT_EQ(tasks_.write(*writer_, 0), 1U);
  tasks_.note_exec(row(10, "from the kernel"));
  tasks_.note_end(10, 1);
  EXPECT_EQ(tasks_.write(*writer_, kTaskPatienceNs), 0U);
  EXPECT_EQ(rows_written(), 1U);
}

TEST_F(TasksTest, an_announcement_fills_fields_that_the_kernel_omits) {
  tasks_.expect_kernel();
  tasks_.note_exec(row(10, "from the kernel"));
  tasks_.note_announcement(row(11, "from inside"), true, 0);
  EXPECT_EQ(tasks_.write(*writer_, kLaterNs), 0U);
  EXPECT_EQ(rows_written(), 2U);
}

TEST_F(TasksTest, announced_process_has_its_surroundings_from_proc) {
  tasks_.note_announcement(row(self().pid, "from inside"), true, 0);
  EXPECT_EQ(tasks_.write(*writer_, 0), 0U);
  EXPECT_EQ(rows_written(), 1U);
  const auto inode = [](const char* link) {
    struct stat attributes{};
    EXPECT_EQ(stat(link, &attributes), 0);
    return store::Numbers(1, attributes.st_ino);
  };
#define NAMESPACE(name, link)                                                                      \
  EXPECT_EQ(column<store::Numbers>(#name "_namespace"), inode("/proc/self/ns/" link));
#include "namespaces.def"
#undef NAMESPACE
  std::ifstream lines("/proc/self/cgroup");
  const std::string groups(std::istreambuf_iterator<char>(lines), {});
  const std::string group(unified_cgroup(groups));
  EXPECT_EQ(column<store::Texts>("cgroup"), store::Texts(1, group));
  EXPECT_EQ(column<store::Texts>("container"), store::Texts(1, container_of(group)));
}

TEST_F(TasksTest, a_program_has_the_rank_of_its_environment_and_gives_it_to_its_children) {
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0); // closed by the exec
  const pid_t pid = fork();
  if (pid == 0) {
    std::string words[] = {"sleep", "100", "PMI_RANK=3", "SLURM_JOB_ID=77"};
    char* const arguments[] = {words[0].data(), words[1].data(), nullptr};
    char* const environment[] = {words[2].data(), words[3].data(), nullptr};
    execve("/bin/sleep", arguments, environment);
    _exit(1);
  }
  close(ready[1]);
  char none = 0;
  EXPECT_EQ(read(ready[0], &none, 1), 0);
  close(ready[0]);
  for (int i = 0; i < 10'000 && read_job_environment(static_cast<unsigned>(pid)).job != "77";
       ++i, usleep(1000)) {
  }
  tasks_.note_exec(row(static_cast<iot_u32>(pid), "sleep 100"));
  kill(pid, SIGKILL);
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
  rows::processes child = row(ended().pid, "");
  child.parent_pid = static_cast<iot_u32>(pid);
  tasks_.note_fork(child);
  EXPECT_EQ(tasks_.write(*writer_, kLaterNs), 0U);
  EXPECT_EQ(rows_written(), 2U);
  EXPECT_EQ(column<store::Texts>("rank"), (store::Texts{"3", "3"}));
  EXPECT_EQ(column<store::Texts>("job"), (store::Texts{"77", "77"}));
}

TEST_F(TasksTest, a_program_has_no_arguments_where_they_are_dropped) {
  tasks_.drop_arguments();
  tasks_.note_exec(row(10, "/bin/db --password=secret"));
  tasks_.note_announcement(row(11, "db secret"), true, 0);
  EXPECT_EQ(tasks_.write(*writer_, kLaterNs), 0U);
  EXPECT_EQ(rows_written(), 2U);
  EXPECT_EQ(column<store::Texts>("command"), (store::Texts{"/bin/db", "db"}));
}

TEST_F(TasksTest, announcement_is_written_at_once_where_no_kernel_speaks) {
  tasks_.note_announcement(row(11, "from inside"), true, 0);
  EXPECT_EQ(tasks_.write(*writer_, 0), 0U);
  EXPECT_EQ(rows_written(), 1U);
}

} // namespace iotrail::capture
