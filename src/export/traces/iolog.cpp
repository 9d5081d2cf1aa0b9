// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/fio_actions.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {

extern const TraceFormat kTraceFormatIolog = {
    .name = "iolog",
    .suffix = "iolog",
    .doc = "reads, writes and syncs for fio --read_iolog (version 3, with times)",
    .omits =
        "threads (`--to fio` keeps them), failed calls, copies between files, mapped files, and "
        "all calls that move no data",
    .write = [](const TraceInput& input, Sink& sink) -> Result<void> {
      IologWriter iolog(sink, 3);
      auto done = for_each_fio_action(input, sink, FioOrder::time,
                                      [&](const FioAction& action) { iolog.add(action); });
      iolog.end();
      return done;
    },
};

} // namespace iotrail::output
