// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "anonymize/anonymize.hpp"
#include "cli/messages.hpp"
#include "cli/open_trace.hpp"
#include "cli/verb.hpp"
#include "store/reader/repository.hpp"
#include "text/printable.hpp"

namespace iotrail::cli {
namespace {

struct AnonymousWish {
  std::string trace;
  std::string key;
  std::string copy;
};

Result<int> anonymize_one(const Console& console, const AnonymousWish& wish) {
  const auto key = anonymize::read_key(wish.key);
  if (!key)
    return std::unexpected(key.error());
  const auto trace = open_trace(wish.trace);
  if (!trace)
    return std::unexpected(trace.error());
  const std::filesystem::path copy = store::new_trace_path(wish.copy, "anonymous");
  if (auto made = anonymize::anonymize_trace(**trace, anonymize::Pseudonyms(*key), copy); !made)
    return std::unexpected(made.error());
  print_warnings(console.err, **trace);
  print_message(console.err, "iotrail: names are replaced; times, sizes, numbers of processes and "
                             "users, and kernel names of disks are not");
  print_message(console.err, "  " + output::printable(copy.string()));
  return 0;
}

Action declare_anonymize(CLI::App& app, const Trailing&) {
  auto wish = std::make_shared<AnonymousWish>();
  app.add_option("trace", wish->trace, kTraceHelp)->type_name("TRACE")->required();
  app.add_option("--key", wish->key,
                 "File with a secret of 16 bytes or more, which only you can read")
      ->type_name("KEYFILE")
      ->required();
  app.add_option("-o,--output", wish->copy,
                 "Name or path of the copy; default: anonymous and the time")
      ->type_name("TRACE");
  app.footer("Each name of a file, program, argument, host, address, control group or container "
             "becomes a pseudonym. Equal names have equal pseudonyms in all traces of one key. "
             "The depth of paths and usual extensions stay. docs/export.md says what else stays.");
  return [wish](const Console& console) { return anonymize_one(console, *wish); };
}

} // namespace

extern const Verb kVerbAnonymize = {
    .name = "anonymize",
    .summary = "Copy a trace with pseudonyms in the place of names",
    .group = Group::manage,
    .rank = 3,
    .declare = declare_anonymize,
    .examples = "  (umask 077; head -c 32 /dev/urandom > key)\n"
                "  iotrail anonymize latest --key key -o public.iotrail\n",
};

} // namespace iotrail::cli
