// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/fio_actions.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {

extern const TraceFormat kTraceFormatIolog2 = {
    .name = "iolog2",
    .suffix = "iolog2",
    .doc = "the same for fio before 3.31 (version 2, without times)",
    .omits = "times, threads, failed calls, copies between files, mapped files, and all calls that "
             "move no data",
    .write = [](const TraceInput& input, Sink& sink) -> Result<void> {
      IologWriter iolog(sink, 2);
      auto done = for_each_fio_action(input, sink, FioOrder::time,
                                      [&](const FioAction& action) { iolog.add(action); });
      iolog.end();
      return done;
    },
};

} // namespace iotrail::output
