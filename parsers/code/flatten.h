// Calls into the tree-sitter runtime that github.com/tree-sitter/go-tree-sitter links: one call parses a text and
// writes the part of its tree that is asked for into one array. The Go API of the runtime copies the text, leaks
// a few bytes per parse where a progress callback is set, and costs several calls from Go for each node.
//
// The declarations follow tree_sitter/api.h of runtime 0.25, which is not on the include path of other modules;
// TestRuntime compares their effect with the Go API's.

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

typedef struct TSLanguage TSLanguage;
typedef struct TSParser TSParser;
typedef struct TSTree TSTree;
typedef struct { uint32_t row, column; } TSPoint;
typedef struct { uint32_t context[4]; const void *id; const TSTree *tree; } TSNode;
typedef struct { const void *tree; const void *id; uint32_t context[3]; } TSTreeCursor;
typedef struct {
  void *payload;
  const char *(*read)(void *payload, uint32_t byte, TSPoint position, uint32_t *bytes_read);
  int encoding; // 0 is UTF-8
  uint32_t (*decode)(const uint8_t *, uint32_t, int32_t *);
} TSInput;
typedef struct { void *payload; uint32_t current_byte_offset; bool has_error; } TSParseState;
typedef struct { void *payload; bool (*progress_callback)(TSParseState *); } TSParseOptions;

extern void ts_set_allocator(void *(*)(size_t), void *(*)(size_t, size_t), void *(*)(void *, size_t), void (*)(void *));
extern TSParser *ts_parser_new(void);
extern void ts_parser_delete(TSParser *);
extern void ts_parser_reset(TSParser *);
extern bool ts_parser_set_language(TSParser *, const TSLanguage *);
extern TSTree *ts_parser_parse_with_options(TSParser *, const TSTree *, TSInput, TSParseOptions);
extern void ts_tree_delete(TSTree *);
extern TSNode ts_tree_root_node(const TSTree *);
extern uint16_t ts_node_symbol(TSNode);
extern uint32_t ts_node_start_byte(TSNode);
extern uint32_t ts_node_end_byte(TSNode);
extern bool ts_node_is_named(TSNode);
extern TSTreeCursor ts_tree_cursor_new(TSNode);
extern void ts_tree_cursor_delete(TSTreeCursor *);
extern TSNode ts_tree_cursor_current_node(const TSTreeCursor *);
extern uint16_t ts_tree_cursor_current_field_id(const TSTreeCursor *);
extern bool ts_tree_cursor_goto_parent(TSTreeCursor *);
extern bool ts_tree_cursor_goto_next_sibling(TSTreeCursor *);
extern bool ts_tree_cursor_goto_first_child(TSTreeCursor *);
extern uint32_t ts_language_symbol_count(const TSLanguage *);
extern const char *ts_language_symbol_name(const TSLanguage *, uint16_t);
extern int ts_language_symbol_type(const TSLanguage *, uint16_t);
extern uint32_t ts_language_field_count(const TSLanguage *);
extern const char *ts_language_field_name_for_id(const TSLanguage *, uint16_t);

typedef struct {
  uint16_t symbol, field, depth, named;
  uint32_t start, end;
} kb_node;

typedef struct {
  const char *text;
  uint32_t length;
  uint64_t operations, max_operations; // parser steps; 100 a callback
  uint64_t bytes, max_bytes;           // handed to the lexer, again each time it goes back
  double max_time, started;            // seconds of this thread's processor time
  bool too_slow;
  const int32_t *cancelled;
  kb_node *nodes;
  uint32_t count, capacity;
} kb_parse_state;

enum { KB_OK, KB_OVER_BUDGET, KB_CANCELLED, KB_TOO_SLOW, KB_FAILED };

static const char *kb_read(void *payload, uint32_t byte, TSPoint position, uint32_t *bytes_read) {
  (void)position;
  kb_parse_state *s = payload;
  uint32_t n = byte < s->length ? s->length - byte : 0;
  if (n > 4096) n = 4096;
  s->bytes += n;
  *bytes_read = n;
  return n ? s->text + byte : "";
}

static bool kb_over(const kb_parse_state *s) {
  return s->operations > s->max_operations || s->bytes > s->max_bytes;
}

static double kb_clock(void) {
#ifdef CLOCK_THREAD_CPUTIME_ID
  struct timespec t;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0) return t.tv_sec + t.tv_nsec / 1e9;
#endif
  return (double)clock() / CLOCKS_PER_SEC;
}

static bool kb_progress(TSParseState *state) {
  kb_parse_state *s = state->payload;
  s->operations += 100;
  s->too_slow = kb_clock() - s->started > s->max_time;
  return s->too_slow || kb_over(s) || __atomic_load_n(s->cancelled, __ATOMIC_RELAXED);
}

static bool kb_add(kb_parse_state *s, kb_node n) {
  if (s->count == s->capacity) {
    uint32_t capacity = s->capacity ? 2 * s->capacity : 1024;
    kb_node *grown = realloc(s->nodes, capacity * sizeof(kb_node));
    if (!grown) return false;
    s->nodes = grown;
    s->capacity = capacity;
  }
  s->nodes[s->count++] = n;
  return true;
}

// kb_walk writes the nodes in order of their start, parents first. It goes below nodes whose symbol is marked in
// descend, below errors, and below nodes of at least large bytes, but never below max_depth.
static bool kb_walk(kb_parse_state *s, TSTree *tree, const uint8_t *descend, uint32_t symbols, uint32_t large, uint32_t max_depth) {
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
  uint32_t depth = 0;
  bool ok = true;
  for (;;) {
    TSNode node = ts_tree_cursor_current_node(&cursor);
    kb_node n = {
      .symbol = ts_node_symbol(node), .field = ts_tree_cursor_current_field_id(&cursor), .depth = depth,
      .named = ts_node_is_named(node), .start = ts_node_start_byte(node), .end = ts_node_end_byte(node),
    };
    if (!(ok = kb_add(s, n))) break;
    bool down = depth == 0 || n.symbol >= symbols || descend[n.symbol] || n.end - n.start >= large;
    if (down && depth < max_depth && ts_tree_cursor_goto_first_child(&cursor)) {
      depth++;
      continue;
    }
    while (depth > 0 && !ts_tree_cursor_goto_next_sibling(&cursor)) {
      ts_tree_cursor_goto_parent(&cursor);
      depth--;
    }
    if (depth == 0) break;
  }
  ts_tree_cursor_delete(&cursor);
  return ok;
}

// kb_allocate_in_c undoes what the Go package does when it starts: every allocation is a call from C to Go and back to malloc, a
// quarter of the time of a parse. Memory from either way may be freed by the other.
static void kb_allocate_in_c(void) {
  static int done;
  if (!__atomic_exchange_n(&done, 1, __ATOMIC_SEQ_CST)) ts_set_allocator(NULL, NULL, NULL, NULL);
}

static int kb_parse(kb_parse_state *s, const char *text, const int32_t *cancelled, const TSLanguage *language, const uint8_t *descend, uint32_t symbols, uint32_t large, uint32_t max_depth) {
  s->text = text;
  s->cancelled = cancelled;
  s->started = kb_clock();
  kb_allocate_in_c();
  TSParser *parser = ts_parser_new();
  if (!parser) return KB_FAILED;
  int result = KB_FAILED;
  if (ts_parser_set_language(parser, language)) {
    TSInput input = {.payload = s, .read = kb_read};
    TSParseOptions options = {.payload = s, .progress_callback = kb_progress};
    TSTree *tree = ts_parser_parse_with_options(parser, NULL, input, options);
    if (tree) {
      result = kb_walk(s, tree, descend, symbols, large, max_depth) ? KB_OK : KB_FAILED;
      ts_tree_delete(tree);
    } else {
      result = kb_over(s) ? KB_OVER_BUDGET : s->too_slow ? KB_TOO_SLOW : KB_CANCELLED;
      ts_parser_reset(parser);
    }
  }
  ts_parser_delete(parser);
  s->text = NULL;
  s->cancelled = NULL;
  return result;
}
