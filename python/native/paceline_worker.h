// The C interface of libpaceline_worker.so, through which the Python package `paceline` is a worker
// of a job.
//
// Rules. Functions that return int return PACELINE_OK, or a code whose words paceline_error() has
// for the calling thread until its next call. A session belongs to the process that made it and to
// one thread at a time; paceline_drain alone may be called from any. What may wait takes a time in
// milliseconds and waits no longer, so that its caller can look at signals meanwhile. Memory handed
// in is copied before a call returns, but for `values`; memory handed out is the session's.
//
// Example (a worker that learns nothing):
//   paceline_session* session;
//   paceline_open(tensors, 1, values, sizeof values, NULL, &session);
//   paceline_start(session, /*train_samples=*/1000, "cpu", /*threads=*/1, /*sampler=*/NULL);
//   paceline_work work;
//   while (paceline_next(session, 50, &work) == PACELINE_OK && work.kind != PACELINE_OVER)
//     if (work.kind == PACELINE_STEP) paceline_end_step(session, 0.0, work.sample_count, 0);
//   paceline_close(session, 5000);
#ifndef PACELINE_WORKER_H
#define PACELINE_WORKER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PACELINE_API __attribute__((visibility("default")))

// Of this header. A library of another one is not to be called.
#define PACELINE_ABI 10

enum {
  PACELINE_OK = 0,
  PACELINE_NO_JOB = 1,    // The process was not started by a job.
  PACELINE_REFUSED = 2,   // The job or its coordinator refuses: starting again is of no use.
  PACELINE_LOST = 3,      // Coordinator or shards are gone: starting again may help.
  PACELINE_HERE = 4,      // This machine cannot do it, another one may.
  PACELINE_INVALID = 5,   // What the caller handed in is wrong.
  PACELINE_FAILED = 6,    // All else.
  PACELINE_GIVEN_UP = 7,  // The work is not wanted any more: paceline_give_up_step.
  // As PACELINE_REFUSED; one that has what paceline_keep named as buffers is welcome.
  PACELINE_HOLDS_FROZEN = 8,
};

typedef struct paceline_session paceline_session;
typedef struct paceline_memory paceline_memory;

enum { PACELINE_FLOAT32 = 0, PACELINE_INT64 = 1 };
enum { PACELINE_PARAMETER = 0, PACELINE_BUFFER = 1 };

typedef struct {
  const char* name;
  const int64_t* shape;  // `dimensions` of them.
  size_t dimensions;
  int32_t type;
  int32_t kind;           // A parameter is trained and float32; buffers are averaged.
  uint64_t offset_bytes;  // Written by paceline_arrange: its place in `values`.
} paceline_tensor;

enum {
  PACELINE_NOTHING = 0,
  PACELINE_STEP = 1,
  PACELINE_EVALUATE = 2,
  PACELINE_OVER = 3,
  PACELINE_DRAW = 4,  // Nothing is taken: paceline_drew(epoch), then ask again.
};

typedef struct {
  int32_t kind;
  const uint32_t* samples;  // Of the training set; valid until the work is done with.
  size_t sample_count;
  uint64_t epoch;  // Of the first sample; PACELINE_DRAW: to be drawn.
} paceline_work;

typedef struct {
  double loss;
  double accuracy;  // 0..1; not a number: it cannot be told.
  uint64_t samples;
  const char* accuracy_from;  // What it is of, or why there is none; for people.
  const char* const* names;   // Further metrics.
  const double* metrics;
  size_t metric_count;
} paceline_evaluation;

PACELINE_API int paceline_abi(void);
PACELINE_API const char* paceline_error(void);

// Memory that gradients need is kept by the process, not mapped anew at each step. For the whole
// process, before it has trained.
PACELINE_API void paceline_tune_allocator(void);

// Gives the tensors their places. PACELINE_INVALID, naming the tensor: a doubled or empty name, no
// parameter at all.
PACELINE_API int paceline_arrange(paceline_tensor* tensors, size_t count, uint64_t* total_bytes);

// Memory for `values`, zeros, on the CPU. A version that shards share is not copied into it: the
// pages change, the addresses stay. What is written to parameters there is gone with the next
// version. Null: there is no room, and any memory will do.
PACELINE_API paceline_memory* paceline_take_memory(uint64_t total_bytes);
PACELINE_API void* paceline_memory_begin(const paceline_memory* memory);
// Nobody reads there any more. A session that uses it keeps it until then.
PACELINE_API void paceline_give_back_memory(paceline_memory* memory);

// As the environment says (PACELINE_...). `values`: arranged by paceline_arrange, with the initial
// values; the session's to write to whenever no work is taken, until it is closed (paceline_close
// says where it goes on). `memory`: what
// they begin, or null: each version is copied there.
// PACELINE_NO_JOB, PACELINE_REFUSED, PACELINE_INVALID.
PACELINE_API int paceline_open(const paceline_tensor* tensors, size_t count, void* values,
                               uint64_t total_bytes, paceline_memory* memory,
                               paceline_session** session);

// The resolved manifest, JSON. The first is of the job that paceline_open would join, with its
// errors; what it gives is the calling thread's until its next call of it.
PACELINE_API int paceline_read_job(const char** json);
PACELINE_API const char* paceline_job(const paceline_session* session);
PACELINE_API int paceline_is_evaluator(const paceline_session* session);
// Its index, in its group; 0 of an evaluator. The group is "" in a job without groups.
PACELINE_API uint32_t paceline_index(const paceline_session* session);
PACELINE_API const char* paceline_group(const paceline_session* session);
// "cpu", "cuda" or "cuda-if-usable", as the job wants it.
PACELINE_API const char* paceline_device(const paceline_session* session);
// With how many threads to compute.
PACELINE_API int paceline_threads(const paceline_session* session);

// Before paceline_start: a tensor that is not trained and that each worker has by itself, of any
// type. No version holds it. All workers are to have the same, which the coordinator sees to.
// `type`: with its shape, for people. `digest`: of its bytes.
PACELINE_API int paceline_keep(paceline_session* session, const char* name, const char* type,
                               const char* digest);

// Before paceline_start: where those that the model's file is to hold are read from, as a
// safetensors file of so many bytes (lib/protocol/frozen_file.h). `of` and
// `frozen`: its metadata of these names. `read` puts what lies there from `begin` on into `into`
// and returns 0, or says that it cannot; it is called on a thread of the session's until that is
// closed.
typedef int (*paceline_read)(uint64_t begin, uint64_t bytes, void* into);
PACELINE_API int paceline_hold(paceline_session* session, const char* of, const char* frozen,
                               uint64_t total_bytes, paceline_read read);

// Before paceline_start, once paceline_hold has said what is this worker's: one step towards having
// what the first worker of the job has handed over. *state is PACELINE_GOES_ON: call it again at
// once; PACELINE_WAITS: as well, it has waited a moment; PACELINE_OWN: its own values are the first
// ones; or PACELINE_TAKEN: `take` was given all of another's, as bytes of such a file, in order,
// and on this thread (from 0 on again, where that was replaced meanwhile). `take` returns 0, or
// says that it cannot keep them. PACELINE_INVALID: there are none to be had, and why.
typedef int (*paceline_take)(uint64_t begin, uint64_t size, const void* bytes, uint64_t count);
enum { PACELINE_GOES_ON = 0, PACELINE_WAITS = 1, PACELINE_OWN = 2, PACELINE_TAKEN = 3 };
PACELINE_API int paceline_adopt(paceline_session* session, paceline_take take, int* state);

// Joins the job, on a thread of the session's own. `device`: what is computed on, "cpu" or "cuda".
// `train_samples`: of an epoch. `sampler`: the script's own, by its name, whose positions an epoch
// is; null: an epoch is the training set, shuffled. Once.
PACELINE_API int paceline_start(paceline_session* session, uint64_t train_samples,
                                const char* device, int threads, const char* sampler);

// What to do next. PACELINE_NOTHING after so many milliseconds without; PACELINE_OVER: the job is
// over, or this worker has drained, as paceline_reason says. Errors: the session has failed.
PACELINE_API int paceline_next(paceline_session* session, int timeout_ms, paceline_work* work);
// What the script's sampler has drawn for the epoch, as many as an epoch has, in their order; the
// same on all workers, which the coordinator sees to. PACELINE_INVALID: another number of them.
PACELINE_API int paceline_drew(paceline_session* session, uint64_t epoch, const uint32_t* samples,
                               size_t count);
PACELINE_API const char* paceline_reason(const paceline_session* session);

// --- Of the work taken.

// The samples that the step `ahead` steps behind this one, 1 or more, is expected to be of, for
// whoever reads them beforehand: how many there are, at most `capacity` of them written. 0 where
// that is not to be guessed. Nobody has promised them: the next work alone says what it is of.
PACELINE_API size_t paceline_expect(paceline_session* session, size_t ahead, uint32_t* samples,
                                    size_t capacity);

// Whether it is still wanted; a sign of progress, which a long step gives now and then. Cheap; may
// be called on any one thread while the session's own waits.
PACELINE_API int paceline_may_go_on(paceline_session* session);
// Gradients of so many tensors: of tensors[i] the floats at gradients[i], contiguous, sizes[i] of
// them, as many as it has. Once a step and parameter; those that nothing is handed over for have
// none, and are not stepped where no other push of the version has one.
// Asks what paceline_may_go_on does: PACELINE_GIVEN_UP. PACELINE_INVALID, naming the tensor: those
// before it are handed over.
PACELINE_API int paceline_hand(paceline_session* session, size_t count, const size_t* tensors,
                               const float* const* gradients, const uint64_t* sizes);
// The step that was taken is computed from now on; what came before was the script's own time,
// which may be longer. The first time a step counts.
PACELINE_API int paceline_begin_step(paceline_session* session);
// `samples`: those that loss and gradients are means over, at most those taken; the job counts the
// others as skipped, and hands them to nobody else. With 0 nothing is to be handed over. Buffers
// have their new values in `values`. PACELINE_INVALID: more than were taken, or
// 0 and something was handed over; the step goes on.
PACELINE_API int paceline_end_step(paceline_session* session, double loss, uint64_t samples,
                                   uint64_t correct);
enum {
  PACELINE_INTERRUPTED = 0,    // As paceline_may_go_on asked for.
  PACELINE_OUT_OF_MEMORY = 1,  // The next batch is to be smaller.
};
// Buffers get back the values that the step began with; its samples go to somebody.
PACELINE_API int paceline_give_up_step(paceline_session* session, int why);
// It cannot be done: the worker fails, as one does whose step raises, and its samples are
// suspected. `cause`: what failed, where, if no step of this process came before and it need not be
// the samples' fault; "" otherwise. The same cause twice, on other samples, ends the job.
PACELINE_API int paceline_fail_step(paceline_session* session, const char* why, const char* cause);
PACELINE_API int paceline_end_evaluation(paceline_session* session,
                                         const paceline_evaluation* evaluation);
// It cannot be done: the job hears why.
PACELINE_API int paceline_fail_evaluation(paceline_session* session, const char* why);

// --- The end.

// Takes no new work; what is in work is finished.
PACELINE_API void paceline_drain(paceline_session* session);
// The same, and the job hears that the script has ended by itself, for good: nobody is to take its
// place. Without effect after paceline_drain. paceline_close comes next.
PACELINE_API void paceline_leave(paceline_session* session);
// Leaves the job and ends the session; work that is taken is given up. Waits at most so long for
// the leaving to be heard. PACELINE_LOST: it was not; what is left stays until the process ends,
// and so must `values`, which are the session's to write to until then.
PACELINE_API int paceline_close(paceline_session* session, int timeout_ms);

// --- Words in memory that the processes of one worker share. No session is needed.

// Sets the word; whoever sees it so sees all that was written before.
PACELINE_API void paceline_post(uint32_t* word, uint32_t value);
// 1 once the word is `value` or beyond it (words count up, and wrap around), 0 after so many
// milliseconds without; with 0 of them it looks and does not wait. EINTR goes on waiting.
PACELINE_API int paceline_await(uint32_t* word, uint32_t value, int timeout_ms);

// Leaves `words` where who started this process looks for why it failed.
PACELINE_API void paceline_last_word(const char* words);

// A line in the worker's log, among its own. level: 0 information, 1 warning.
PACELINE_API void paceline_log(int level, const char* text);

#ifdef __cplusplus
}
#endif

#endif  // PACELINE_WORKER_H
