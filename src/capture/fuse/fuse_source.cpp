// SPDX-License-Identifier: BSD-3-Clause
#include "capture/fuse/fuse_source.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/clock.hpp"
#include "capture/fuse/session.hpp"
#include "capture/selection/mounts.hpp"
#include "capture/tasks/tasks.hpp"

namespace iotrail::capture {
namespace fuse {
namespace {

constexpr std::size_t kProgramsMost = 65'536; // remembered, to write each once

// All that the workers use: if one never ends, because the backend hangs, it is left alone.
struct Serving {
  EventQueue events;
  std::unique_ptr<IoTraceText> text;
  std::unique_ptr<Session> session;
};

class FuseSource final : public Source {
public:
  explicit FuseSource(MountOptions options) : options_(std::move(options)) {}
  ~FuseSource() override {
    end();
    if (serving_->session && serving_->session->is_stuck())
      (void)serving_.release(); // its worker still uses it
  }

  std::string_view name() const override { return schema::value_name("source", IOT_source_fuse); }
  Result<void> open(const SourceOptions& options) override;
  Result<void> start() override;
  std::size_t drain(store::TraceWriter& writer) override;
  bool has_ended() const override {
    return serving_->session && serving_->session->has_ended() && serving_->events.is_empty();
  }
  Result<void> stop() override;
  std::uint64_t produced() const override { return serving_->events.produced(); }
  std::vector<CounterValue> counters() const override {
    return {{IOT_COUNTER_fuse_queue_full, IOT_LAYER_fuse, serving_->events.lost()},
            {IOT_COUNTER_fuse_task_unknown, IOT_LAYER_fuse, tasks_unknown_}};
  }
  std::vector<store::HookReport> hooks() const override;
  std::size_t ring_memory_bytes() const override { return 0; }

private:
  void note_programs();
  void append(QueuedEvent& event, store::TraceWriter& writer);
  std::string full_path(const std::string& path) const;
  iot_u32 file_id(const NodeFacts& file, const std::string& path, store::TraceWriter& writer);
  bool end();

  MountOptions options_;
  std::unique_ptr<Serving> serving_ = std::make_unique<Serving>();
  Tasks own_tasks_; // if none are given
  Tasks* tasks_ = &own_tasks_;
  std::map<iot_u32, std::tuple<std::string, std::string, std::string>> programs_;
  iot_u32 device_ = 0;           // of the mount
  std::uint64_t operations_ = 0; // that have a number
  std::uint64_t tasks_unknown_ = 0;
  bool is_stopped_ = false;
  std::string complaint_; // of the end
};

Result<void> FuseSource::open(const SourceOptions& options) {
  if (options.tasks != nullptr)
    tasks_ = options.tasks;
  return check_mount(options_);
}

Result<void> FuseSource::start() {
  if (!options_.text.empty()) {
    auto text = IoTraceText::create(options_.text, options_.flushes_text, options_.pads_text);
    if (!text)
      return std::unexpected(text.error());
    serving_->text = std::move(*text);
  }
  auto session = Session::mount(options_, serving_->events, serving_->text.get());
  if (!session)
    return std::unexpected(session.error());
  serving_->session = std::move(*session);
  const std::vector<Mount> mounts =
      read_mounts(); // asks nothing of the mount, which is not served yet
  const auto own = std::ranges::find(mounts, options_.point.native(), &Mount::point);
  device_ = own == mounts.end() ? 0 : own->device;
  serving_->session->serve();
  return {};
}

void FuseSource::note_programs() {
  if (programs_.size() >= kProgramsMost)
    programs_.clear();
  for (rows::processes& row : serving_->events.take_processes()) {
    const auto program = std::tuple(row.comm, row.exe, row.command);
    const auto [known, is_new] = programs_.try_emplace(row.pid);
    if (!is_new && known->second == program)
      continue;
    known->second = program;
    const std::uint64_t now_ns = monotonic_ns();
    tasks_->note_announcement(std::move(row), true, now_ns);
  }
}

std::string FuseSource::full_path(const std::string& path) const {
  return path == "/" ? options_.point.native() : options_.point.native() + path;
}

iot_u32 FuseSource::file_id(const NodeFacts& file, const std::string& path,
                            store::TraceWriter& writer) {
  if (file.inode == 0)
    return 0;
  return writer.file_id({.device = device_, .inode = file.inode, .generation = 0}, file.mode,
                        full_path(path), {.is_deleted = false, .file_system = "fuse"});
}

void FuseSource::append(QueuedEvent& event, store::TraceWriter& writer) {
  const auto path_id = [&](const std::string& path) {
    return path.empty() ? 0 : writer.string_id(full_path(path));
  };
  std::visit(
      [&](auto& record) {
        record.event.op_id = IOT_OP_FUSE << IOT_OP_MAKER_SHIFT | ++operations_;
        record.file = file_id(event.file, event.path, writer);
        record.path = path_id(event.path);
        if constexpr (requires { record.to_file; })
          record.to_file = file_id(event.to_file, event.to_path, writer);
        if constexpr (requires { record.to_path; })
          record.to_path = event.is_to_path_below_root ? path_id(event.to_path)
                                                       : writer.string_id(event.to_path);
        tasks_unknown_ += record.event.pid == 0 && record.uid != 0 ? 1 : 0;
        writer.append(record.event);
      },
      event.record);
}

std::size_t FuseSource::drain(store::TraceWriter& writer) {
  std::vector<QueuedEvent> events = serving_->events.take_events();
  note_programs();
  for (QueuedEvent& event : events)
    append(event, writer);
  if (serving_->text)
    serving_->text->flush();
  const std::size_t waiting = tasks_->write(writer, monotonic_ns());
  return events.size() + (is_stopped_ ? waiting : 0);
}

bool FuseSource::end() {
  if (!serving_->session)
    return true;
  const bool was_unused = serving_->session->end();
  if (serving_->session->is_stuck())
    complaint_ = "a call on the backend does not end";
  return was_unused;
}

Result<void> FuseSource::stop() {
  const bool was_unused = is_stopped_ || end();
  is_stopped_ = true;
  if (serving_->text)
    serving_->text->flush();
  if (serving_->text && !serving_->text->failure().empty())
    return fail("lines are missing from the text file", serving_->text->failure());
  if (!complaint_.empty())
    return fail(fmt::format("unmounted {}", options_.point.native()), complaint_);
  if (!was_unused)
    return fail(fmt::format("unmounted {}", options_.point.native()),
                "programs had files open there, which now fail with ENOTCONN");
  return {};
}

std::vector<store::HookReport> FuseSource::hooks() const {
  std::vector<store::HookReport> reports;
  for (const schema::Event& event : schema::kEvents)
    if (event.layer == schema::Layer::fuse)
      reports.push_back({.event = std::string(event.name),
                         .source = std::string(name()),
                         .tier = "",
                         .hook = "/dev/fuse",
                         .reason = "",
                         .remedy = ""});
  return reports;
}

} // namespace
} // namespace fuse

std::unique_ptr<Source> make_fuse_source(MountOptions options) {
  return std::make_unique<fuse::FuseSource>(std::move(options));
}

} // namespace iotrail::capture
