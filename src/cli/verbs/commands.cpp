// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands.hpp"

namespace iotrail::cli {

std::span<const Verb> verbs() {
  static constexpr Verb kVerbs[] = {
      {"record", "Record the I/O of a command or of running processes", declare_record},
      {"stat", "Add up the I/O of a command or of running processes, and record none of it",
       declare_stat},
      {"snapshot", "Take down what the machine is like: files, processes, disks, settings",
       declare_snapshot},
      {"report", "Say what a recorded program did, on every layer", declare_report},
      {"explain", "Show operations one by one: where their time went, and their bytes",
       declare_explain},
      {"verify", "Check that all events and all bytes of the devices are accounted for",
       declare_verify},
      {"script", "Print events, one a line, in the order of time", declare_script},
      {"query", "Ask a trace in SQL", declare_query},
      {"export", "Write events as CSV or JSON", declare_export},
      {"list", "List the traces of the repository", declare_list},
      {"info", "Show what a trace says about itself", declare_info},
      {"tag", "Put names and values on a trace", declare_tag},
      {"remove", "Delete traces", declare_remove},
      {"doctor", "Say what this machine allows to record, and what would lift each refusal",
       declare_doctor},
      {"schema", "Print the definition of all events", declare_schema},
  };
  return kVerbs;
}

} // namespace iotrail::cli
