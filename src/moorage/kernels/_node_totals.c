/* What every node scores for the pods of one class, kept row by row; -1 where it takes none.
 *
 * A total is NodeResourcesFit's score and NodeResourcesBalancedAllocation's, weighted: the same float64
 * operations in the same order as in _kernels.c, so contraction into fused multiply-adds must stay off.
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

#define OTHER_VIEWS (4 + 6) /* totals, open, pods, most_pods; three columns of each balanced one */
#define NOT_HERE (-1)

typedef struct {
    const double *offered;
    const double *used;
    double request;
    double weight;
} Scored;

typedef struct {
    const int64_t *free;
    int64_t amount;
} Needed;

typedef struct {
    const double *offered;
    const double *used;
    const double *share;
    double request;
} Balanced;

/* One class of pods on one table. */
typedef struct {
    Py_buffer *views;
    int taken;
    int32_t *totals;
    Py_ssize_t rows;
    const uint8_t *open;
    const int64_t *pods, *most_pods;
    Needed *needed;
    Py_ssize_t needs;
    Scored *scored;
    Py_ssize_t scores;
    double weights;
    int least, weight;
    Balanced balanced[2];
    int balance_weight;
} Class;

static void let_go(Class *cls)
{
    while (cls->taken > 0)
        PyBuffer_Release(&cls->views[--cls->taken]);
    PyMem_Free(cls->views);
    PyMem_Free(cls->needed);
    PyMem_Free(cls->scored);
}

static void *take(Class *cls, PyObject *object, Py_ssize_t size, int flags)
{
    Py_buffer *view = &cls->views[cls->taken];
    if (PyObject_GetBuffer(object, view, flags) < 0)
        return NULL;
    cls->taken++;
    if (view->len != cls->rows * size) {
        PyErr_SetString(PyExc_ValueError, "columns differ in length");
        return NULL;
    }
    return view->buf;
}

static int take_needed(Class *cls, PyObject *specs)
{
    for (Py_ssize_t i = 0; i < cls->needs; i++) {
        PyObject *free;
        long long amount;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(specs, i), "OL", &free, &amount) ||
            !(cls->needed[i].free = take(cls, free, 8, PyBUF_CONTIG_RO)))
            return -1;
        cls->needed[i].amount = amount;
    }
    return 0;
}

static int take_scored(Class *cls, PyObject *specs)
{
    cls->weights = 0.0;
    for (Py_ssize_t i = 0; i < cls->scores; i++) {
        PyObject *offered, *used;
        Scored *scored = &cls->scored[i];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(specs, i), "ddOO", &scored->weight, &scored->request,
                              &offered, &used) ||
            !(scored->offered = take(cls, offered, 8, PyBUF_CONTIG_RO)) ||
            !(scored->used = take(cls, used, 8, PyBUF_CONTIG_RO)))
            return -1;
        cls->weights += scored->weight;
    }
    return 0;
}

static int take_balanced(Class *cls, PyObject *specs)
{
    for (int i = 0; i < PyTuple_GET_SIZE(specs); i++) {
        PyObject *offered, *used, *share;
        Balanced *balanced = &cls->balanced[i];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(specs, i), "dOOO", &balanced->request, &offered,
                              &used, &share) ||
            !(balanced->offered = take(cls, offered, 8, PyBUF_CONTIG_RO)) ||
            !(balanced->used = take(cls, used, 8, PyBUF_CONTIG_RO)) ||
            !(balanced->share = take(cls, share, 8, PyBUF_CONTIG_RO)))
            return -1;
    }
    return 0;
}

static int take_class(Class *cls, PyObject *totals, PyObject *spec)
{
    PyObject *open, *pods, *most_pods, *needed, *scored, *balanced;
    cls->taken = 0;
    if (!PyArg_ParseTuple(spec, "OOOO!O!piO!i", &open, &pods, &most_pods, &PyTuple_Type, &needed,
                          &PyTuple_Type, &scored, &cls->least, &cls->weight, &PyTuple_Type,
                          &balanced, &cls->balance_weight))
        return -1;
    Py_ssize_t pair = PyTuple_GET_SIZE(balanced);
    if (pair != 0 && pair != 2) {
        PyErr_SetString(PyExc_ValueError, "two resources are balanced, or none");
        return -1;
    }
    if (pair == 0)
        cls->balance_weight = 0;
    cls->needs = PyTuple_GET_SIZE(needed);
    cls->scores = PyTuple_GET_SIZE(scored);
    cls->views = PyMem_New(Py_buffer, OTHER_VIEWS + cls->needs + 2 * cls->scores);
    cls->needed = PyMem_New(Needed, cls->needs);
    cls->scored = PyMem_New(Scored, cls->scores);
    if (cls->views == NULL || cls->needed == NULL || cls->scored == NULL) {
        let_go(cls);
        PyErr_NoMemory();
        return -1;
    }
    if (PyObject_GetBuffer(totals, &cls->views[0], PyBUF_CONTIG) < 0) {
        let_go(cls);
        return -1;
    }
    cls->taken = 1;
    cls->totals = cls->views[0].buf;
    cls->rows = cls->views[0].len / 4;
    if (!(cls->open = take(cls, open, 1, PyBUF_CONTIG_RO)) ||
        !(cls->pods = take(cls, pods, 8, PyBUF_CONTIG_RO)) ||
        !(cls->most_pods = take(cls, most_pods, 8, PyBUF_CONTIG_RO)) ||
        take_needed(cls, needed) < 0 || take_scored(cls, scored) < 0 ||
        take_balanced(cls, balanced) < 0) {
        let_go(cls);
        return -1;
    }
    return 0;
}

static int takes_one(const Class *cls, Py_ssize_t row)
{
    if (!cls->open[row] || cls->pods[row] >= cls->most_pods[row])
        return 0;
    for (Py_ssize_t i = 0; i < cls->needs; i++)
        if (cls->needed[i].free[row] < cls->needed[i].amount)
            return 0;
    return 1;
}

static int32_t mean(const Class *cls, Py_ssize_t row)
{
    double total = 0.0;
    for (Py_ssize_t i = 0; i < cls->scores; i++) {
        const Scored *scored = &cls->scored[i];
        double offered = scored->offered[row], part;
        if (cls->least) {
            part = offered - scored->used[row] - scored->request;
            part = part > 0.0 ? part : 0.0;
        } else {
            part = scored->used[row] + scored->request;
            part = part < offered ? part : offered;
        }
        total += floor(part * 100.0 / offered) * scored->weight;
    }
    return cls->scores ? (int32_t)(total / cls->weights) : 0;
}

static int32_t balance(const Class *cls, Py_ssize_t row)
{
    const Balanced *one = &cls->balanced[0], *two = &cls->balanced[1];
    double after0 = (one->used[row] + one->request) / one->offered[row];
    double after1 = (two->used[row] + two->request) / two->offered[row];
    after0 = after0 < 1.0 ? after0 : 1.0;
    after1 = after1 < 1.0 ? after1 : 1.0;
    int32_t before = (int32_t)((1.0 - fabs((one->share[row] - two->share[row]) / 2.0)) * 100.0);
    int32_t after = (int32_t)((1.0 - fabs((after0 - after1) / 2.0)) * 100.0);
    return 50 + (50 + after - before) / 2;
}

static void total(const Class *cls, Py_ssize_t row)
{
    int32_t found = NOT_HERE;
    if (takes_one(cls, row)) {
        found = mean(cls, row) * cls->weight;
        if (cls->balance_weight)
            found += balance(cls, row) * cls->balance_weight;
    }
    cls->totals[row] = found;
}

static int total_some(const Class *cls, PyObject *changed)
{
    Py_ssize_t count = PyList_GET_SIZE(changed);
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t row = PyLong_AsSsize_t(PyList_GET_ITEM(changed, i));
        if (row < 0 || row >= cls->rows) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a row beyond the columns");
            return -1;
        }
        total(cls, row);
    }
    return 0;
}

WIDE static int32_t highest(const int32_t *restrict totals, Py_ssize_t rows)
{
    int32_t found = NOT_HERE;
    for (Py_ssize_t row = 0; row < rows; row++)
        found = totals[row] > found ? totals[row] : found;
    return found;
}

WIDE static Py_ssize_t occurrences(const int32_t *restrict totals, Py_ssize_t rows, int32_t value)
{
    int32_t found = 0;
    for (Py_ssize_t row = 0; row < rows; row++)
        found += totals[row] == value;
    return found;
}

/* best(totals, changed, spec): brings the totals of the changed rows, of all where that is None, up to
 * date; the highest of all totals, -1 where no node takes the pod, and how many nodes have it. */
static PyObject *best(PyObject *self, PyObject *args)
{
    PyObject *totals, *changed, *spec;
    Class cls;
    if (!PyArg_ParseTuple(args, "OOO!", &totals, &changed, &PyTuple_Type, &spec) ||
        take_class(&cls, totals, spec) < 0)
        return NULL;
    int failed = 0;
    if (changed == Py_None)
        for (Py_ssize_t row = 0; row < cls.rows; row++)
            total(&cls, row);
    else if (PyList_Check(changed))
        failed = total_some(&cls, changed) < 0;
    else {
        PyErr_SetString(PyExc_TypeError, "changed rows are a list, or None");
        failed = 1;
    }
    int32_t found = failed ? NOT_HERE : highest(cls.totals, cls.rows);
    Py_ssize_t tied = failed ? 0 : occurrences(cls.totals, cls.rows, found);
    let_go(&cls);
    return failed ? NULL : Py_BuildValue("in", found, tied);
}

/* nth(totals, total, n): the n-th row, from 0, with this total, or -1. */
static PyObject *nth(PyObject *self, PyObject *args)
{
    PyObject *object;
    int wanted;
    Py_ssize_t left, answer = -1;
    Py_buffer view;
    if (!PyArg_ParseTuple(args, "Oin", &object, &wanted, &left) ||
        PyObject_GetBuffer(object, &view, PyBUF_CONTIG_RO) < 0)
        return NULL;
    const int32_t *totals = view.buf;
    Py_ssize_t rows = view.len / 4;
    for (Py_ssize_t row = 0; row < rows && answer < 0; row++)
        if (totals[row] == wanted && left-- == 0)
            answer = row;
    PyBuffer_Release(&view);
    return PyLong_FromSsize_t(answer);
}

static PyMethodDef methods[] = {
    {"best", best, METH_VARARGS, "Bring totals up to date; the highest, and how many have it."},
    {"nth", nth, METH_VARARGS, "The n-th row with a total."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_node_totals", "What nodes score for a class of pods.", -1, methods,
};

PyMODINIT_FUNC PyInit__node_totals(void)
{
    return PyModule_Create(&module);
}
