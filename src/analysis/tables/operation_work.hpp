// SPDX-License-Identifier: BSD-3-Clause
//
// What devices did for operations, by operation; and what they wrote back, by file, for the calls
// that waited for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "store/reader/trace_reader.hpp"
#include "trail/state/link.hpp"

namespace iotrail::analysis {

// Times of a request; 0: unknown.
struct DeviceWork {
  std::uint64_t queued_ns;
  std::uint64_t inserted_ns;
  std::uint64_t issued_ns;
  std::uint64_t completed_ns;
};

class OperationWork {
public:
  // `links` must outlive this object.
  OperationWork(const store::TraceReader& trace, std::span<const trail::Link> links);

  // These call `add` until it returns false. With a DeviceWork for each completed request of the
  // operation:
  template <class Add> void requests_of(std::uint64_t op_id, Add add) const {
    for (const Request& request : requests_with(op_id))
      if (!add(work_of(request.at)))
        return;
  }
  // With each time at which a kernel thread queued a bio of the operation:
  template <class Add> void held_back_of(std::uint64_t op_id, Add add) const {
    for (const HeldBack& each : held_back_with(op_id))
      if (!add(each.queued_ns))
        return;
  }
  // With a DeviceWork for each write-back of the file during the span; no file: of all files.
  template <class Add>
  void write_backs(std::optional<std::uint32_t> file, std::uint64_t from_ns, std::uint64_t until_ns,
                   Add add) {
    const std::vector<WriteBack>& all = written(file);
    for (std::size_t i = first_from(all, until_ns); i > 0 && all[i - 1].reached_ns > from_ns; --i)
      if (links_[all[i - 1].at].completed_ns > from_ns && !add(work_of(all[i - 1].at)))
        return;
  }

private:
  // Positions among the links; behind these, among the requests without one.
  struct Request {
    std::uint64_t op_id;
    std::size_t at;
  };
  struct HeldBack {
    std::uint64_t op_id;
    std::uint64_t queued_ns;
  };
  struct WriteBack {
    std::size_t at;
    std::uint64_t reached_ns; // the latest completion up to this one
  };
  std::span<const Request> requests_with(std::uint64_t op_id) const;
  std::span<const HeldBack> held_back_with(std::uint64_t op_id) const;
  DeviceWork work_of(std::size_t at) const;
  const std::vector<WriteBack>& written(std::optional<std::uint32_t> file);
  void find_written();
  void sort(std::vector<WriteBack>& all) const;
  std::size_t first_from(const std::vector<WriteBack>& all, std::uint64_t ns) const;
  void add_link(std::size_t at);
  void add_blocks(const store::TraceReader& trace);

  std::span<const trail::Link> links_;
  std::vector<DeviceWork> without_link_; // flushes of a disk's cache
  std::vector<Request> requests_;        // by operation
  std::vector<HeldBack> held_back_;      // by operation
  bool knows_written_ = false;           // most traces have no call that waits for others
  std::map<std::uint32_t, std::vector<WriteBack>> written_; // by file
  std::vector<WriteBack> all_written_;
};

} // namespace iotrail::analysis
