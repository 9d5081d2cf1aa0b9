// SPDX-License-Identifier: BSD-3-Clause
#include "app_recording.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "capture/preload/collector/preload_source.hpp"

namespace iotrail::live {

namespace fs = std::filesystem;

namespace {

std::map<std::string_view, int (*)(const std::string&)>& children() {
  static std::map<std::string_view, int (*)(const std::string&)> all;
  return all;
}

[[noreturn]] void execute(const std::vector<std::string>& command, const RunOptions& options,
                          const std::vector<std::string>& environment) {
  for (const std::string& variable : environment)
    putenv(const_cast<char*>(variable.c_str()));
  if (!options.work_directory.empty() && chdir(options.work_directory.c_str()) != 0)
    _exit(125);
  if (!options.output.empty()) {
    const int file = open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, 1);
    dup2(file, 2);
    close(file);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

int shell_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::uint64_t number_at(const store::TableInfo& table, const std::vector<store::Column>& columns,
                        std::size_t row, std::string_view name) {
  return std::get<store::Numbers>(columns[static_cast<std::size_t>(table.column(name))])[row];
}

std::string text_at(const store::TableInfo& table, const std::vector<store::Column>& columns,
                    std::size_t row, std::string_view name) {
  return std::get<store::Texts>(columns[static_cast<std::size_t>(table.column(name))])[row];
}

} // namespace

Child::Child(const char* name, int (*body)(const std::string&)) {
  children()[name] = body;
}

int Child::run(std::string_view name, const std::string& directory) {
  return children().at(name)(directory);
}

AppRecording AppRecording::of_command(const std::vector<std::string>& command, RunOptions options) {
  AppRecording recording;
  recording.record(command, options);
  return recording;
}

AppRecording AppRecording::of_child(const char* child, RunOptions options) {
  AppRecording recording;
  recording.record({fs::read_symlink("/proc/self/exe").string(), "--child", child,
                    recording.scratch_->path().string()},
                   options);
  return recording;
}

void AppRecording::record(const std::vector<std::string>& command, const RunOptions& options) {
  capture::SourceOptions source_options;
  source_options.ring_bytes = options.ring_bytes;
  source_options.filter.events = options.events;
  const fs::path trace = *scratch_ / "trace.iotrail";
  auto opened = open_recorder(trace, capture::make_preload_source(), source_options);
  ASSERT_TRUE(opened.has_value()) << opened.error().message();
  capture::Recorder& recorder = **opened;
  ASSERT_TRUE(recorder.start().has_value());
  const std::vector<std::string> environment = recorder.child_environment();
  pid_ = fork();
  if (pid_ == 0)
    execute(command, options, environment);
  status_ = shell_status(wait_for_child(pid_, [&] {
    if (options.is_drained)
      recorder.step(monotonic_ns());
    if (options.meanwhile)
      options.meanwhile(pid_);
  }));
  const auto stopped = recorder.stop({});
  ASSERT_TRUE(stopped.has_value()) << stopped.error().message();
  manifest_ = recorder.manifest();
  auto reader = store::TraceReader::open(trace);
  ASSERT_TRUE(reader.has_value()) << reader.error().message();
  reader_ = std::move(*reader);
  read_dictionaries();
}

void AppRecording::for_each_row(iot_u16 kind, const OnRow& on_row) const {
  if (reader_ == nullptr)
    return;
  const store::TableInfo* const table = reader_->table(kind);
  for (const store::BlockInfo& block : reader_->blocks()) {
    if (block.kind != kind)
      continue;
    const auto columns = reader_->read(block);
    ASSERT_TRUE(columns.has_value()) << columns.error().message();
    for (std::size_t row = 0; row < block.rows; ++row)
      on_row(*table, *columns, row);
  }
}

void AppRecording::read_dictionaries() {
  for_each_row(IOT_KIND_files, [&](const auto& table, const auto& columns, std::size_t row) {
    rows::files file;
    file.file = static_cast<iot_u32>(number_at(table, columns, row, "file"));
    file.device = static_cast<iot_u32>(number_at(table, columns, row, "device"));
    file.inode = number_at(table, columns, row, "inode");
    file.generation = static_cast<iot_u32>(number_at(table, columns, row, "generation"));
    file.mode = static_cast<iot_u32>(number_at(table, columns, row, "mode"));
    file.path = text_at(table, columns, row, "path");
    files_[file.file] = file;
  });
  for_each_row(IOT_KIND_strings, [&](const auto& table, const auto& columns, std::size_t row) {
    strings_[static_cast<iot_u32>(number_at(table, columns, row, "string"))] =
        text_at(table, columns, row, "text");
  });
  for_each_row(IOT_KIND_processes, [&](const auto& table, const auto& columns, std::size_t row) {
    rows::processes process;
    process.since_ns = number_at(table, columns, row, "since_ns");
    process.pid = static_cast<iot_u32>(number_at(table, columns, row, "pid"));
    process.parent_pid = static_cast<iot_u32>(number_at(table, columns, row, "parent_pid"));
    process.comm = text_at(table, columns, row, "comm");
    process.exe = text_at(table, columns, row, "exe");
    process.command = text_at(table, columns, row, "command");
    processes_.push_back(process);
  });
}

void AppRecording::copy_fields(std::byte* record, iot_u16 kind, const store::TableInfo& table,
                               const std::vector<store::Column>& columns, std::size_t row) {
  for (const schema::Field& field : schema::find_event(kind)->fields) {
    const std::uint64_t value = number_at(table, columns, row, field.name);
    std::memcpy(record + field.offset, &value, schema::info(field.type).size_bytes);
  }
}

std::string AppRecording::text(iot_u32 id) const {
  const auto found = strings_.find(id);
  return found != strings_.end() ? found->second : "";
}

void AppRecording::expect_header(const iot_event& event, std::uint64_t duration_ns) const {
  EXPECT_EQ(event.pid, static_cast<iot_u32>(pid_));
  EXPECT_EQ(event.tid, static_cast<iot_u32>(pid_));
  EXPECT_EQ(event.cpu, IOT_CPU_UNKNOWN);
  EXPECT_EQ(event.op_id >> IOT_OP_MAKER_SHIFT & IOT_OP_PRELOAD, IOT_OP_PRELOAD);
  EXPECT_GT(event.ts_ns, begin_ns());
  EXPECT_GT(duration_ns, 0U);
  EXPECT_LT(event.ts_ns + duration_ns, end_ns());
}

void expect_complete(const AppRecording& recording) {
  EXPECT_EQ(recording.status(), 0);
  EXPECT_EQ(recording.lost(), 0U);
  EXPECT_EQ(recording.counter(IOT_COUNTER_preload_text_full), 0U);
  EXPECT_EQ(recording.produced(), recording.written());
}

} // namespace iotrail::live

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--child")
    return iotrail::live::Child::run(argv[2], argv[3]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
