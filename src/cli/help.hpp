// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/verb.hpp"

namespace iotrail::cli {

// "LAYER,..."; empty: the option takes no value.
std::string value_of(const CLI::Option& option);

// "record [OPTIONS] -- COMMAND [ARGUMENT...]"
std::string usage_of(const Verb& verb, const CLI::App& parser);

// `--help` in lines of at most 80 characters. The parser's own formatter breaks no lines.
class HelpFormatter : public CLI::Formatter {
public:
  HelpFormatter();

  void add(const CLI::App* parser, const Verb* verb) { verbs_[parser] = verb; }

  std::string make_usage(const CLI::App* parser, std::string name) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* verb) const override;
  std::string make_footer(const CLI::App* parser) const override;

private:
  std::map<const CLI::App*, const Verb*> verbs_;
};

} // namespace iotrail::cli
