// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <optional>

#include "export/model/fio_mix.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

constexpr std::size_t kMostMixes = 64; // jobs in mix.fio

struct FioFiles {
  std::map<std::string, std::uint64_t> end_of; // name and end of the last byte moved
  std::vector<std::uint64_t> threads;
};

// The iolog of each thread is a file.
Result<FioFiles> write_fio_threads(const TraceInput& input, const OutputDirectory& directory) {
  FioFiles files;
  OutputDirectory::File file;
  std::optional<Sink> sink;
  std::optional<IologWriter> iolog;
  Result<void> failed;
  const auto close = [&] {
    if (!iolog)
      return;
    iolog->end();
    if (auto done = sink->finish(); !done && failed) {
      failed = done;
      failed.error().what =
          fmt::format("cannot write {}/{}.iolog", directory.path().string(), files.threads.back());
    }
  };
  std::string none;
  const Sink reader(none);
  auto done = for_each_fio_action(input, reader, FioOrder::thread, [&](const FioAction& action) {
    if (!failed)
      return;
    if (files.threads.empty() || files.threads.back() != action.tid) {
      close();
      auto made = directory.create(fmt::format("{}.iolog", action.tid));
      if (!made) {
        failed = std::unexpected(made.error());
        iolog.reset();
        return;
      }
      file = std::move(*made);
      files.threads.push_back(action.tid);
      iolog.emplace(sink.emplace(file.get()), 3);
    }
    iolog->add(action);
    std::uint64_t& end = files.end_of[action.file];
    end = std::max(end, action.position + action.bytes);
  });
  close();
  if (!done)
    return std::unexpected(done.error());
  if (!failed)
    return std::unexpected(failed.error());
  return files;
}

Result<void> write_fio_replay(const FioFiles& files, const OutputDirectory& directory) {
  return directory.write("replay.fio", [&](std::FILE* file) {
    Sink sink(file);
    sink.put("; Repeats the calls of each thread at their times. It makes its own files in the "
             "directory\n"
             "; in which it is started: cd DIRECTORY && fio replay.fio\n"
             "[global]\nioengine=psync\nthread=1\n");
    std::size_t number = 0;
    for (const auto& [name, end] : files.end_of)
      sink.print("\n[prepare-{}]\ncreate_only=1\nrw=read\nfilename={}\nfilesize={}\n", ++number,
                 name, std::max<std::uint64_t>(end, 4096));
    for (const std::uint64_t tid : files.threads)
      sink.print("\n[thread-{0}]\n{1}read_iolog={0}.iolog\n", tid,
                 tid == files.threads.front() ? "stonewall\n" : "");
    return sink.finish();
  });
}

Result<void> write_fio_mix(const TraceInput& input, const FioFiles& files,
                           const OutputDirectory& directory) {
  std::map<std::pair<std::string, bool>, FioMix> mixes; // by file, true: reads
  for (const auto& [name, end] : files.end_of)
    for (const bool is_read : {true, false})
      mixes.try_emplace({name, is_read}, is_read, std::max<std::uint64_t>(end, 1));
  std::string none;
  const Sink reader(none);
  auto done = for_each_fio_action(input, reader, FioOrder::time, [&](const FioAction& action) {
    const auto mix = mixes.find({action.file, action.kind == FioKind::read});
    if (mix != mixes.end())
      mix->second.add(action);
  });
  if (!done)
    return done;
  std::vector<decltype(mixes)::const_pointer> order;
  for (const auto& mix : mixes)
    if (mix.second.operations() != 0)
      order.push_back(&mix);
  std::ranges::stable_sort(order, std::greater<>(),
                           [](const auto* mix) { return mix->second.operations(); });
  order.resize(std::min(order.size(), kMostMixes));
  return directory.write("mix.fio", [&](std::FILE* file) {
    Sink sink(file);
    sink.put("; Imitates the reads and the writes of each file: sizes, places, order, rate, depth, "
             "syncs.\n"
             "; It makes its own files in the directory in which it is started.\n"
             "[global]\nioengine=psync\nthread=1\n");
    for (const auto* mix : order)
      sink.print("\n[{} {}]\n{}", mix->first.first, mix->first.second ? "read" : "write",
                 mix->second.job(mix->first.first));
    return sink.finish();
  });
}

Result<void> write_fio(const TraceInput& input, const OutputDirectory& directory) {
  const auto files = write_fio_threads(input, directory);
  if (!files)
    return std::unexpected(files.error());
  auto done = write_fio_replay(*files, directory);
  return done ? write_fio_mix(input, *files, directory) : done;
}

} // namespace

extern const TraceFormat kTraceFormatFio = {
    .name = "fio",
    .suffix = "fio",
    .doc =
        "jobs for fio: replay.fio repeats the calls of each thread, mix.fio imitates those on each "
        "file",
    .omits = "failed calls, copies between files, mapped files, and all calls that move no data; "
             "mix.fio has the 64 jobs with the most calls",
    .write_files = write_fio,
};

} // namespace iotrail::output
