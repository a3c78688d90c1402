/* The passes that every pod costs over every node, fused.
 *
 * Each computes exactly what its numpy form computes, beside the caller in fit.py, scoring_strategies.py,
 * balanced_allocation.py or scoring.py: the same float64 operations in the same order, so contraction
 * into fused multiply-adds must stay off. Where this module could not be built, and where a kernel
 * refuses its columns, the numpy forms are used.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

typedef struct {
    const double *offered;
    const double *used;
    double request;
    double weight;
} Resource;

WIDE static void mean_rows(int64_t *out, Py_ssize_t rows, const Resource *resources, int count,
                           double weights, int least)
{
    for (Py_ssize_t row = 0; row < rows; row++) {
        double total = 0.0;
        for (int i = 0; i < count; i++) {
            const Resource *resource = &resources[i];
            double offered = resource->offered[row];
            double part;
            if (least) {
                part = offered - resource->used[row] - resource->request;
                part = part > 0.0 ? part : 0.0;
            } else {
                part = resource->used[row] + resource->request;
                part = part < offered ? part : offered;
            }
            total += floor(part * 100.0 / offered) * resource->weight;
        }
        out[row] = (int64_t)(total / weights);
    }
}

/* The default: two resources of weight 1, the least allocated first. */
WIDE static void least_of_two(int64_t *restrict out, Py_ssize_t rows,
                              const double *restrict offered0, const double *restrict used0,
                              double request0, const double *restrict offered1,
                              const double *restrict used1, double request1)
{
    for (Py_ssize_t row = 0; row < rows; row++) {
        double left0 = offered0[row] - used0[row] - request0;
        double left1 = offered1[row] - used1[row] - request1;
        left0 = left0 > 0.0 ? left0 : 0.0;
        left1 = left1 > 0.0 ? left1 : 0.0;
        int32_t percent0 = (int32_t)(left0 * 100.0 / offered0[row]);
        int32_t percent1 = (int32_t)(left1 * 100.0 / offered1[row]);
        out[row] = (percent0 + percent1) / 2;
    }
}

/* `share` is what is used of what is offered, at most 1, without the pod. */
WIDE static void balance_rows(int64_t *restrict out, Py_ssize_t rows,
                              const double *restrict offered0, const double *restrict used0,
                              const double *restrict share0, double request0,
                              const double *restrict offered1, const double *restrict used1,
                              const double *restrict share1, double request1)
{
    for (Py_ssize_t row = 0; row < rows; row++) {
        double after0 = (used0[row] + request0) / offered0[row];
        double after1 = (used1[row] + request1) / offered1[row];
        after0 = after0 < 1.0 ? after0 : 1.0;
        after1 = after1 < 1.0 ? after1 : 1.0;
        int32_t before = (int32_t)((1.0 - fabs((share0[row] - share1[row]) / 2.0)) * 100.0);
        int32_t after = (int32_t)((1.0 - fabs((after0 - after1) / 2.0)) * 100.0);
        out[row] = 50 + (50 + after - before) / 2;
    }
}

WIDE static void mark_short(int32_t *restrict out, Py_ssize_t rows, const int64_t *restrict free,
                            const int64_t *restrict offered, int64_t amount, int32_t bit,
                            int32_t never)
{
    for (Py_ssize_t row = 0; row < rows; row++) {
        int32_t code = free[row] < amount ? bit : 0;
        out[row] |= offered[row] < amount && code ? code | never : code;
    }
}

static int column(PyObject *object, Py_buffer *view, Py_ssize_t rows, int writable)
{
    if (PyObject_GetBuffer(object, view, writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO) < 0)
        return -1;
    if (view->len != rows * 8) {
        PyBuffer_Release(view);
        PyErr_SetString(PyExc_ValueError, "columns differ in length");
        return -1;
    }
    return 0;
}

/* mean_allocated(out, ((weight, request, offered, used), ...), least) */
static PyObject *mean_allocated(PyObject *self, PyObject *args)
{
    PyObject *out_object, *specs;
    int least;
    if (!PyArg_ParseTuple(args, "OO!p", &out_object, &PyTuple_Type, &specs, &least))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(specs), taken = 0;
    Py_buffer out;
    if (PyObject_GetBuffer(out_object, &out, PyBUF_CONTIG) < 0)
        return NULL;
    Py_ssize_t rows = out.len / 8;
    Py_buffer *views = PyMem_New(Py_buffer, 2 * count);
    Resource *resources = PyMem_New(Resource, count);
    double weights = 0.0;
    int failed = 0, plain = least && count == 2;
    if (views == NULL || resources == NULL) {
        PyErr_NoMemory();
        failed = 1;
    } else if (count < 1) {
        PyErr_SetString(PyExc_ValueError, "at least one resource");
        failed = 1;
    }
    for (Py_ssize_t i = 0; i < count && !failed; i++) {
        PyObject *offered, *used;
        Resource *resource = &resources[i];
        failed = !PyArg_ParseTuple(PyTuple_GET_ITEM(specs, i), "ddOO", &resource->weight,
                                   &resource->request, &offered, &used);
        if (!failed && !(failed = column(offered, &views[taken], rows, 0) < 0)) {
            resource->offered = views[taken++].buf;
            if (!(failed = column(used, &views[taken], rows, 0) < 0))
                resource->used = views[taken++].buf;
        }
        if (!failed) {
            weights += resource->weight;
            plain = plain && resource->weight == 1.0;
        }
    }
    if (!failed && plain)
        least_of_two(out.buf, rows, resources[0].offered, resources[0].used, resources[0].request,
                     resources[1].offered, resources[1].used, resources[1].request);
    else if (!failed)
        mean_rows(out.buf, rows, resources, (int)count, weights, least);
    while (taken > 0)
        PyBuffer_Release(&views[--taken]);
    PyMem_Free(views);
    PyMem_Free(resources);
    PyBuffer_Release(&out);
    if (failed)
        return NULL;
    Py_RETURN_TRUE;
}

/* balance_of_two(out, offered0, used0, share0, request0, offered1, used1, share1, request1) */
static PyObject *balance_of_two(PyObject *self, PyObject *args)
{
    PyObject *objects[7];
    double request0, request1;
    if (!PyArg_ParseTuple(args, "OOOOdOOOd", &objects[0], &objects[1], &objects[2], &objects[3],
                          &request0, &objects[4], &objects[5], &objects[6], &request1))
        return NULL;
    Py_buffer views[7];
    if (PyObject_GetBuffer(objects[0], &views[0], PyBUF_CONTIG) < 0)
        return NULL;
    Py_ssize_t rows = views[0].len / 8;
    int taken = 1;
    while (taken < 7 && column(objects[taken], &views[taken], rows, 0) == 0)
        taken++;
    int failed = taken < 7;
    if (!failed)
        balance_rows(views[0].buf, rows, views[1].buf, views[2].buf, views[3].buf, request0,
                     views[4].buf, views[5].buf, views[6].buf, request1);
    while (taken > 0)
        PyBuffer_Release(&views[--taken]);
    if (failed)
        return NULL;
    Py_RETURN_TRUE;
}

/* mark(out, free, offered, amount, bit, never): rows with less free than the amount get the bit,
 * and those that do not even offer it get `never` too. */
static PyObject *mark(PyObject *self, PyObject *args)
{
    PyObject *objects[3];
    long long amount;
    int bit, never;
    if (!PyArg_ParseTuple(args, "OOOLii", &objects[0], &objects[1], &objects[2], &amount, &bit,
                          &never))
        return NULL;
    Py_buffer views[3];
    if (PyObject_GetBuffer(objects[0], &views[0], PyBUF_CONTIG) < 0)
        return NULL;
    Py_ssize_t rows = views[0].len / 4;
    int taken = 1;
    while (taken < 3 && column(objects[taken], &views[taken], rows, 0) == 0)
        taken++;
    int failed = taken < 3;
    if (!failed)
        mark_short(views[0].buf, rows, views[1].buf, views[2].buf, amount, bit, never);
    while (taken > 0)
        PyBuffer_Release(&views[--taken]);
    if (failed)
        return NULL;
    Py_RETURN_TRUE;
}

#define BLOCK 512

/* What nodes score: columns over the table's rows, each with a weight; and which rows the nodes are,
 * where they are not all of them. */
typedef struct {
    Py_buffer *views;
    int64_t *weights;
    Py_buffer chosen;
    const Py_ssize_t *rows;
    Py_ssize_t nodes, count;
} Scores;

static void release(Scores *scores)
{
    while (scores->count > 0)
        PyBuffer_Release(&scores->views[--scores->count]);
    PyMem_Free(scores->views);
    PyMem_Free(scores->weights);
    if (scores->rows != NULL)
        PyBuffer_Release(&scores->chosen);
}

static int refuse(Scores *scores, const char *why)
{
    release(scores);
    PyErr_SetString(PyExc_ValueError, why);
    return -1;
}

static int choose(PyObject *rows, Scores *scores, Py_ssize_t length)
{
    scores->nodes = length;
    if (rows == Py_None)
        return 0;
    if (PyObject_GetBuffer(rows, &scores->chosen, PyBUF_CONTIG_RO) < 0) {
        release(scores);
        return -1;
    }
    scores->rows = scores->chosen.buf;
    scores->nodes = scores->chosen.len / (Py_ssize_t)sizeof(Py_ssize_t);
    for (Py_ssize_t node = 0; node < scores->nodes; node++)
        if (scores->rows[node] < 0 || scores->rows[node] >= length)
            return refuse(scores, "a row beyond the columns");
    return 0;
}

/* Takes hold of ((values, weight), ...), int64 columns of one length, and of rows, or None. */
static int hold(PyObject *pairs, PyObject *rows, Scores *scores)
{
    Py_ssize_t length = -1, count = PyTuple_GET_SIZE(pairs);
    scores->count = 0;
    scores->rows = NULL;
    scores->views = PyMem_New(Py_buffer, count);
    scores->weights = PyMem_New(int64_t, count);
    if (scores->views == NULL || scores->weights == NULL) {
        release(scores);
        PyErr_NoMemory();
        return -1;
    }
    if (count < 1)
        return refuse(scores, "at least one column");
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *values;
        long long weight;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(pairs, i), "OL", &values, &weight) ||
            PyObject_GetBuffer(values, &scores->views[i], PyBUF_CONTIG_RO) < 0) {
            release(scores);
            return -1;
        }
        scores->weights[scores->count++] = weight;
        if (length >= 0 && scores->views[i].len / 8 != length)
            return refuse(scores, "columns differ in length");
        length = scores->views[i].len / 8;
    }
    return choose(rows, scores, length);
}

WIDE static void add_block(int64_t *restrict sums, const int64_t *restrict values, int64_t weight,
                           Py_ssize_t count)
{
    if (weight == 1)
        for (Py_ssize_t i = 0; i < count; i++)
            sums[i] += values[i];
    else
        for (Py_ssize_t i = 0; i < count; i++)
            sums[i] += values[i] * weight;
}

static Py_ssize_t sum_block(int64_t *restrict sums, const Scores *scores, Py_ssize_t start)
{
    Py_ssize_t left = scores->nodes - start, count = left < BLOCK ? left : BLOCK;
    for (Py_ssize_t i = 0; i < count; i++)
        sums[i] = 0;
    for (Py_ssize_t column = 0; column < scores->count; column++) {
        const int64_t *values = scores->views[column].buf;
        int64_t weight = scores->weights[column];
        if (scores->rows == NULL)
            add_block(sums, values + start, weight, count);
        else
            for (Py_ssize_t i = 0; i < count; i++)
                sums[i] += values[scores->rows[start + i]] * weight;
    }
    return count;
}

WIDE static int64_t highest_of(const int64_t *restrict sums, Py_ssize_t count)
{
    int64_t found = INT64_MIN;
    for (Py_ssize_t i = 0; i < count; i++)
        found = sums[i] > found ? sums[i] : found;
    return found;
}

WIDE static Py_ssize_t occurrences(const int64_t *restrict sums, Py_ssize_t count, int64_t value)
{
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < count; i++)
        found += sums[i] == value;
    return found;
}

/* highest(((values, weight), ...), rows): the highest sum of a node, and how many nodes have it. */
static PyObject *highest(PyObject *self, PyObject *args)
{
    PyObject *pairs, *rows;
    Scores scores;
    if (!PyArg_ParseTuple(args, "O!O", &PyTuple_Type, &pairs, &rows) ||
        hold(pairs, rows, &scores) < 0)
        return NULL;
    int64_t best = INT64_MIN, sums[BLOCK];
    Py_ssize_t tied = 0;
    for (Py_ssize_t start = 0; start < scores.nodes; start += BLOCK) {
        Py_ssize_t count = sum_block(sums, &scores, start);
        int64_t found = highest_of(sums, count);
        if (found > best) {
            best = found;
            tied = 0;
        }
        if (found == best)
            tied += occurrences(sums, count, best);
    }
    release(&scores);
    return Py_BuildValue("Ln", (long long)best, tied);
}

/* nth_of(((values, weight), ...), rows, sum, n): the n-th node, from 0, with this sum, or -1. */
static PyObject *nth_of(PyObject *self, PyObject *args)
{
    PyObject *pairs, *rows;
    long long wanted;
    Py_ssize_t left;
    Scores scores;
    if (!PyArg_ParseTuple(args, "O!OLn", &PyTuple_Type, &pairs, &rows, &wanted, &left) ||
        hold(pairs, rows, &scores) < 0)
        return NULL;
    int64_t sums[BLOCK];
    Py_ssize_t answer = -1;
    for (Py_ssize_t start = 0; start < scores.nodes && answer < 0; start += BLOCK) {
        Py_ssize_t count = sum_block(sums, &scores, start);
        Py_ssize_t here = occurrences(sums, count, wanted);
        if (left >= here) {
            left -= here;
            continue;
        }
        for (Py_ssize_t i = 0; answer < 0; i++)
            if (sums[i] == wanted && left-- == 0)
                answer = start + i;
    }
    release(&scores);
    return PyLong_FromSsize_t(answer);
}

static PyMethodDef methods[] = {
    {"highest", highest, METH_VARARGS,
     "The highest weighted sum of a node, and how many nodes have it."},
    {"nth_of", nth_of, METH_VARARGS, "The n-th node with a weighted sum."},
    {"mark", mark, METH_VARARGS, "Mark the rows that are short of an amount."},
    {"mean_allocated", mean_allocated, METH_VARARGS,
     "Write the weighted mean of what is left, or used, of each resource in percent."},
    {"balance_of_two", balance_of_two, METH_VARARGS,
     "Write how much more evenly two resources would be used."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_kernels", "Fused passes over all nodes.", -1, methods,
};

PyMODINIT_FUNC PyInit__kernels(void)
{
    return PyModule_Create(&module);
}
