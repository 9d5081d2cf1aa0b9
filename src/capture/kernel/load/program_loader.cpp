// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/load/program_loader.hpp"

#include <sched.h>

#include <bpf/libbpf.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "base/result.hpp"
#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/btf/libbpf_log.hpp"
#include "capture/kernel/btf/module_types.hpp"
#include "capture/kernel/load/program_job.hpp"
#include "capture/kernel/load/program_types.hpp"
#include "capture/kernel/load/signals_blocked.hpp"
#include "iotrail.skel.h"

namespace iotrail::capture::kernel {
namespace {

// The placeholder for programs: its type needs no types of the kernel, which libbpf would read
// again for each.
constexpr bpf_prog_type kIdleType = BPF_PROG_TYPE_SOCKET_FILTER;

constexpr unsigned kThreadsMost = 8; // more would wait for the longest program

// The processors that this thread may run on: more threads would only take turns.
unsigned processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0
             ? static_cast<unsigned>(CPU_COUNT(&allowed))
             : kThreadsMost; // more than a set can name
}

// Longest first, so that no long program starts last and delays all.
bool is_shorter(const ProgramJob* one, const ProgramJob* other) {
  return one->length() < other->length();
}

Constants constants_of(bpf_map* map) {
  std::size_t size = 0;
  const auto* bytes = static_cast<const std::byte*>(bpf_map__initial_value(map, &size));
  return {bpf_map__fd(map), {bytes, size}};
}

thread_local ProgramQueue* taking = nullptr; // while libbpf loads an object in this thread

} // namespace

class ProgramQueue {
public:
  ProgramQueue();
  ~ProgramQueue() { end(); }
  ProgramQueue(const ProgramQueue&) = delete;
  ProgramQueue& operator=(const ProgramQueue&) = delete;

  // All of the thread that calls libbpf.
  void begin(bpf_map* constants) { constants_ = constants; }
  void add(bpf_program* program, const ProgramSection& section, const bpf_prog_load_opts& options);
  void finish(); // loads waiting programs; returns when all are loaded or refused
  void give_up();
  void hand_over(std::vector<RefusedProgram>& refused);

private:
  void work();
  ProgramJob* next();
  void close();
  void end();

  std::mutex mutex_; // of the next three
  std::condition_variable has_changed_;
  std::vector<ProgramJob*> waiting_; // a heap
  bool is_complete_ = false;
  std::vector<std::unique_ptr<ProgramJob>> jobs_;
  bpf_map* constants_ = nullptr;
  ModuleTypes modules_;
  std::vector<std::thread> threads_;
};

ProgramQueue::ProgramQueue() {
  const SignalsBlocked blocked;
  const unsigned threads = std::min(processors(), kThreadsMost);
  try {
    for (unsigned thread = 1; thread < threads; ++thread)
      threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) { // as many as possible: this thread loads the rest
    show_in_log(fmt::format("threads for {} of {} processors: {}\n", threads_.size() + 1, threads,
                            error.what()));
  }
}

void ProgramQueue::add(bpf_program* program, const ProgramSection& section,
                       const bpf_prog_load_opts& options) {
  jobs_.push_back(
      std::make_unique<ProgramJob>(program, section, options, constants_of(constants_)));
  if (!jobs_.back()->find_type(modules_))
    return;
  const std::lock_guard lock(mutex_);
  waiting_.push_back(jobs_.back().get());
  std::ranges::push_heap(waiting_, is_shorter);
  has_changed_.notify_one();
}

// Waits for the longest program; null: all are taken, or loading has failed.
ProgramJob* ProgramQueue::next() {
  std::unique_lock lock(mutex_);
  has_changed_.wait(lock, [this] { return is_complete_ || !waiting_.empty(); });
  if (waiting_.empty())
    return nullptr;
  std::ranges::pop_heap(waiting_, is_shorter);
  ProgramJob* const job = waiting_.back();
  waiting_.pop_back();
  return job;
}

void ProgramQueue::work() {
  while (ProgramJob* job = next())
    job->load();
}

// No further programs follow.
void ProgramQueue::close() {
  const std::lock_guard lock(mutex_);
  is_complete_ = true;
  has_changed_.notify_all();
}

void ProgramQueue::end() {
  close();
  for (std::thread& thread : threads_)
    thread.join();
  threads_.clear();
}

void ProgramQueue::finish() {
  close();
  work();
  end();
}

void ProgramQueue::give_up() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  end();
}

void ProgramQueue::hand_over(std::vector<RefusedProgram>& refused) {
  for (const auto& job : jobs_) {
    job->hand_over();
    if (job->refusal() != 0)
      refused.push_back({bpf_program__name(job->program()), job->refusal()});
  }
  jobs_.clear();
}

namespace {

const ProgramSection& section_at(long index) {
  return kProgramSections.at(static_cast<std::size_t>(index));
}

// libbpf calls it when a program is relocated, before it loads it.
int take_program(bpf_program* program, bpf_prog_load_opts* options, long section) {
  if (taking == nullptr)
    return -EINVAL;
  taking->add(program, section_at(section), *options);
  auto idle = kIdleProgram; // libbpf requires a pointer to non-const
  options->expected_attach_type = bpf_attach_type{};
  options->prog_btf_fd = 0;
  options->func_info_cnt = options->func_info_rec_size = 0;
  options->func_info = nullptr;
  options->line_info_cnt = options->line_info_rec_size = 0;
  options->line_info = nullptr;
  return bpf_program__set_insns(program, idle.data(), idle.size());
}

int attach_program(const bpf_program* program, long section, bpf_link** link) {
  if (section_at(section).type == BPF_PROG_TYPE_TRACING)
    *link = bpf_program__attach_trace(program);
  else
    *link = bpf_program__attach_kprobe(program, section_of(program).starts_with("kretprobe/"),
                                       std::string(function_of(program)).c_str());
  return *link == nullptr ? -errno : 0;
}

bool register_all() {
  for (std::size_t index = 0; index < kProgramSections.size(); ++index) {
    LIBBPF_OPTS(libbpf_prog_handler_opts, options);
    options.cookie = static_cast<long>(index);
    options.prog_prepare_load_fn = take_program;
    options.prog_attach_fn = attach_program;
    IOTRAIL_CHECK(libbpf_register_prog_handler(kProgramSections[index].pattern, kIdleType,
                                               kProgramSections[index].attach_type, &options) > 0);
  }
  return true;
}

} // namespace

void ProgramLoader::register_sections() {
  static const bool once = register_all();
  (void)once;
}

ProgramLoader::ProgramLoader() : queue_(std::make_unique<ProgramQueue>()) {}
ProgramLoader::~ProgramLoader() = default;

int ProgramLoader::load(iotrail_bpf* skeleton, std::vector<RefusedProgram>& refused) {
  queue_->begin(skeleton->maps.rodata);
  taking = queue_.get();
  const int error = -iotrail_bpf__load(skeleton);
  taking = nullptr;
  if (error != 0) {
    queue_->give_up();
    return error;
  }
  queue_->finish();
  queue_->hand_over(refused);
  return 0;
}

} // namespace iotrail::capture::kernel
