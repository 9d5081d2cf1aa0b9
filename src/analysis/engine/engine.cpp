// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/engine.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "analysis/engine/duckdb_library.hpp"
#include "analysis/engine/lazy_relations.hpp"
#include "analysis/engine/query_error.hpp"
#include "analysis/engine/query_guard.hpp"
#include "analysis/engine/relations.hpp"
#include "analysis/engine/sql_text.hpp"
#include "analysis/functions/functions.hpp"
#include "analysis/spill/spill_directory.hpp"
#include "analysis/tables/column_meaning.hpp"
#include "analysis/tables/trace_table.hpp"
#include "analysis/tables/trail_tables.hpp"
#include "store/writer/temporary_files.hpp"

namespace iotrail::analysis {

namespace {

// Always sort for joins by the nearest time. Comparing each pair, the default for a few rows on the
// left, takes seconds if the right side has many rows.
// Without empty_result_pullup: DuckDB 1.4.4 drops all rows of an ASOF LEFT
// JOIN with a side that it knows to be empty.
constexpr std::string_view kSettings =
    "SET asof_loop_join_threshold = 0; SET disabled_optimizers = 'empty_result_pullup'";

} // namespace

struct Engine::Impl {
  // Order matters: the tables of the database refer to the reader.
  std::unique_ptr<store::TraceReader> reader;
  std::vector<store::TableInfo>
      tables; // of the reader, including columns that the trace is too old to have
  ColumnMeanings meanings;
  std::unique_ptr<TrailTables> trails;
  store::TemporaryFiles temporary_files;
  std::optional<SpillDirectory> spill;
  duckdb_database database = nullptr;
  Connection connection;
  LazyRelations definitions; // of the relations that no query has named yet
  Limits finding_limits;
  Progress progress;
  std::string output;             // the file that write_parquet() writes; empty: none
  std::optional<Error> no_memory; // a relation could not be defined: each query would fail
  std::string unfit_views;        // why each view that needs missing columns is absent

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (database == nullptr)
      return; // perhaps the library is missing too
    duckdb_disconnect(&connection.handle);
    duckdb_close(&database);
  }

  Result<void> open_database(const EngineOptions& options);
  Result<void> register_tables();
  void add_definitions(const EngineOptions& options);
  Result<void> define(const std::vector<LazyRelations::Definition>& taken);
  std::vector<LazyRelations::Definition> take_all();
  template <class Run> auto with_relations(std::string_view sql, const Run& ask) -> decltype(ask());
  bool is_relation_missing(const Error& error) const;
  void explain_failure(Error& error) const;
  Result<void> lock();
  Result<void> run(std::string_view what, const std::string& sql) const;
};

namespace {

constexpr std::uint64_t kMostMemoryBytes = 4ULL << 30U;
constexpr std::uint64_t kLeastSpaceBytes = 64ULL << 20U; // that the engine needs to start
constexpr std::uint64_t kSpaceOfThreads = 2ULL << 30U;   // each thread reserves some 100 MiB

std::uint64_t page_bytes() {
  return static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
}

std::uint64_t default_memory_bytes() {
  const auto pages = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  return std::min(pages * page_bytes() / 2, kMostMemoryBytes);
}

// Bytes of address space that `ulimit -v` leaves to this process.
std::uint64_t space_left() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return UINT64_MAX;
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, pages * page_bytes());
}

std::unexpected<Error> fail_of_memory(std::string why) {
  Error error = engine_error("the SQL engine cannot start", nullptr);
  error.why = std::move(why);
  error.hint = std::string(kMemoryHint);
  error.code = ENOMEM;
  return std::unexpected(std::move(error));
}

struct Settings {
  duckdb_config config = nullptr;
  Settings() = default;
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;
  ~Settings() { duckdb_destroy_config(&config); }

  Result<void> set(const char* name, const std::string& value) {
    if (duckdb_set_config(config, name, value.c_str()) != DuckDBSuccess)
      return fail_of_memory(fmt::format("it does not take the setting {} = {}", name, value));
    return {};
  }
};

// The engine counts so many threads, but starts none: the caller does all their work. With fewer, it
// clears 2 MiB for each GROUP BY, instead of 256 KiB.
constexpr unsigned kThreadsOfCaller = 4;

// `is_small`: handing a query's few rows to another thread costs more than the work does.
Result<void> choose_settings(Settings& settings, const EngineOptions& options, bool is_small,
                             const std::string& spill) {
  const std::uint64_t space = space_left();
  if (space < kLeastSpaceBytes || duckdb_create_config(&settings.config) != DuckDBSuccess)
    return fail_of_memory("not enough memory");
  const bool has_space = space >= kSpaceOfThreads;
  const unsigned callers = options.threads == 0 && is_small && has_space ? kThreadsOfCaller : 1;
  const unsigned usual = is_small || !has_space ? callers : std::thread::hardware_concurrency();
  const unsigned threads = options.threads ? options.threads : std::max(1U, usual);
  const std::uint64_t memory_bytes =
      std::min(options.memory_bytes ? options.memory_bytes : default_memory_bytes(), space / 2);
  const std::pair<const char*, std::string> chosen[] = {
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
      {"threads", fmt::format("{}", threads)},
      {"external_threads", fmt::format("{}", callers)},
      {"memory_limit", fmt::format("{}B", memory_bytes)},
      {"temp_directory", spill},
  };
  for (const auto& [name, value] : chosen)
    if (auto set = settings.set(name, value); !set)
      return set;
  return {};
}

} // namespace

Result<void> Engine::Impl::open_database(const EngineOptions& options) {
  if (Result<void> loaded = load_duckdb(); !loaded)
    return loaded;
  Settings settings;
  std::error_code ignored;
  std::filesystem::path parent = std::filesystem::temp_directory_path(ignored);
  if (parent.empty()) // TMPDIR is no directory
    parent = "/tmp";
  spill.emplace(parent, temporary_files);
  if (auto chosen = choose_settings(settings, options, !is_large(*reader), spill->path()); !chosen)
    return chosen;
  char* why = nullptr;
  if (duckdb_open_ext(":memory:", &database, settings.config, &why) != DuckDBSuccess) {
    auto failed = fail("SQL engine", why ? why : "it does not start");
    duckdb_free(why);
    return failed;
  }
  if (duckdb_connect(database, &connection.handle) != DuckDBSuccess)
    return fail("SQL engine", "no connection");
  return {};
}

Result<void> Engine::Impl::run(std::string_view what, const std::string& sql) const {
  duckdb_result result{};
  const duckdb_state state = duckdb_query(connection.handle, sql.c_str(), &result);
  Result<void> done;
  if (state != DuckDBSuccess)
    done =
        std::unexpected(engine_error(fmt::format("SQL of {}", what), duckdb_result_error(&result)));
  duckdb_destroy_result(&result);
  return done;
}

Result<void> Engine::Impl::register_tables() {
  tables = tables_of(*reader);
  meanings = ColumnMeanings(tables);
  for (const store::TableInfo& table : tables)
    if (auto done = register_trace_table(connection.handle, *reader, table); !done)
      return done;
  trails = std::make_unique<TrailTables>(*reader);
  if (auto done = trails->register_in(connection.handle); !done)
    return done;
  return register_functions(connection.handle);
}

// Views with a row for each layer, process or file at most. Others read them many times.
constexpr std::string_view kSmallViews[] = {
    "asked_layers", "busy_window",          "call_layer",       "disk_caches",
    "file_names",   "files_without_device", "given_paths",      "programs",
    "run",          "renamed_files",        "shared_file_calls"};

// The trace's own tables come last, so that none replaces a relation of iotrail.
void Engine::Impl::add_definitions(const EngineOptions& options) {
  std::vector<std::string> kept(options.kept_views);
  kept.insert(kept.end(), std::begin(kSmallViews), std::end(kSmallViews));
  add_manifest_tables(definitions, *reader);
  add_schema_tables(definitions, tables);
  add_table_list(definitions, *reader);
  add_causes(definitions);
  add_all_events(definitions, *reader, tables);
  add_selection(definitions, options.selection, reader->manifest());
  definitions.add_file(macros_sql() + schema_macros_sql() + layer_macros_sql(*reader, tables), {});
  for (const ViewFile& view : view_files())
    definitions.add_file(view.sql, kept);
  add_finding_rules(definitions, options.finding_limits);
  add_trace_tables(definitions, *reader, tables);
}

// After the trace is attached, all SQL comes from the user, or from the author of the user's query.
Result<void> Engine::Impl::lock() {
  connection.reads_only = true;
  const std::string allow =
      output.empty() ? "" : fmt::format("SET allowed_paths = [{}]; ", sql_literal(output));
  return run("the lock",
             allow + "SET enable_external_access = false; SET lock_configuration = true");
}

// Fails only if memory is short.
Result<void> Engine::Impl::define(const std::vector<LazyRelations::Definition>& taken) {
  std::optional<QueryTimer> timer; // some are computed
  if (connection.time_limit_ns != 0 && !taken.empty())
    timer.emplace(connection.handle, connection.time_limit_ns, connection.on_overdue);
  for (const auto& [what, sql, fallback_sql] : taken) {
    auto done = run(what, sql);
    if (!done && done.error().code != ENOMEM && !fallback_sql.empty())
      done = run(what, fallback_sql);
    if (!done && done.error().code == ENOMEM) {
      no_memory = done.error();
      return done;
    }
    if (!done)
      unfit_views += fmt::format("{}{}", unfit_views.empty() ? "" : "\n", done.error().message());
  }
  return {};
}

// What nothing reads yet need not be computed.
std::vector<LazyRelations::Definition> Engine::Impl::take_all() {
  return definitions.take_all(true);
}

// Retries a statement once, with all relations defined, if the engine missed one: the statement may
// build names while it runs, as query() does. To define all takes seconds.
template <class Run>
auto Engine::Impl::with_relations(std::string_view sql, const Run& ask) -> decltype(ask()) {
  if (no_memory)
    return std::unexpected(*no_memory);
  if (connection.reads_only)
    if (auto checked = check_begin(sql); !checked)
      return std::unexpected(checked.error());
  if (auto done = define(lists_relations(sql) ? take_all() : definitions.take_for(sql)); !done)
    return std::unexpected(done.error());
  auto rows = ask();
  if (rows || rows.error().code == ENOMEM || !is_relation_missing(rows.error()))
    return rows;
  if (auto done = define(take_all()); !done)
    return std::unexpected(done.error());
  return ask();
}

bool Engine::Impl::is_relation_missing(const Error& error) const {
  const std::string_view reason = std::string_view(error.why).substr(0, error.why.find('\n'));
  return reason.contains("Catalog Error") && definitions.names_one_not_taken(reason);
}

void Engine::Impl::explain_failure(Error& error) const {
  if (error.code == 0 && error.what == kQueryFailed)
    make_plain(error, definitions.names());
  if (error.hint.empty() && !unfit_views.empty())
    error.hint =
        "The trace is of another version, and does not have all that is needed for\n" + unfit_views;
}

Result<std::unique_ptr<Engine>> Engine::open(const std::filesystem::path& trace,
                                             const EngineOptions& options) {
  auto reader = store::TraceReader::open(trace);
  if (!reader)
    return std::unexpected(reader.error());
  auto impl = std::make_unique<Impl>();
  impl->reader = std::move(*reader);
  if (auto done = impl->open_database(options); !done)
    return std::unexpected(done.error());
  if (auto done = impl->register_tables(); !done)
    return std::unexpected(done.error());
  impl->add_definitions(options);
  impl->finding_limits = options.finding_limits;
  impl->output = options.output;
  impl->connection.time_limit_ns = options.time_limit_ns;
  if (auto done = impl->run("the settings", std::string(kSettings)); !done)
    return std::unexpected(done.error());
  if (auto done = count_rows(impl->connection); !done)
    return std::unexpected(done.error());
  // The output of a writing statement must not clash with a relation defined later.
  if (auto done = options.external_access ? impl->define(impl->take_all()) : impl->lock(); !done)
    return std::unexpected(done.error());
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

const store::TraceReader& Engine::trace() const {
  return *impl_->reader;
}

const Limits& Engine::finding_limits() const {
  return impl_->finding_limits;
}

Progress& Engine::progress() {
  return impl_->progress;
}

static void mark_asked(std::string_view sql, Rows& rows) {
  const std::vector<std::string> asked = names_of_conditions(sql);
  for (std::size_t i = 0; i < rows.columns().size(); ++i)
    if (std::ranges::find(asked, rows.columns()[i].name) != asked.end())
      rows.set_asked(i);
}

void Engine::set_on_overdue(OnOverdue on_overdue) {
  impl_->connection.on_overdue = std::move(on_overdue);
}

Result<Rows> Engine::query(std::string_view sql) {
  auto rows = impl_->with_relations(sql, [&] { return Rows::run(impl_->connection, sql); });
  if (!rows)
    impl_->explain_failure(rows.error());
  for (std::size_t i = 0; rows && i < rows->columns().size(); ++i)
    rows->set_meaning(i, impl_->meanings.of(sql, rows->columns()[i].name, rows->type(i)));
  if (rows)
    mark_asked(sql, *rows);
  return rows;
}

Result<Chunks> Engine::query_for_arrow(std::string_view sql) {
  auto chunks =
      impl_->with_relations(sql, [&] { return Chunks::run(impl_->connection, sql, Form::arrow); });
  if (!chunks)
    impl_->explain_failure(chunks.error());
  return chunks;
}

Result<std::uint64_t> Engine::write_parquet(std::string_view sql) {
  IOTRAIL_CHECK(!impl_->output.empty());
  auto rows = impl_->with_relations(
      sql, [&] { return analysis::write_parquet(impl_->connection, sql, impl_->output); });
  if (!rows)
    impl_->explain_failure(rows.error());
  return rows;
}

} // namespace iotrail::analysis
