// Oracle says what kube-scheduler decides. It links kube-scheduler's own framework and plugins, reads conformance
// cases as JSON lines on stdin and writes the outcome of each as a JSON line on stdout, in the same order. Every
// verdict, message, score and victim it prints was computed by upstream code; what is written here only puts the
// case's objects where the scheduler looks for them, and reads the results.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

const longestLine = 256 << 20

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	crashes := watchCrashes()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<20), longestLine)
	w := bufio.NewWriter(out)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		o := answer(ctx, lines.Bytes(), crashes)
		line, err := json.Marshal(o)
		if err != nil {
			return err
		}
		w.Write(append(line, '\n'))
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

// answer turns one line into an outcome. Whatever goes wrong on the way is that case's error and nobody else's.
func answer(ctx context.Context, line []byte, crashes <-chan any) (o outcome) {
	c, err := decode(line)
	defer func() {
		r := recover()
		if r == nil {
			select {
			case r = <-crashes:
			default:
				return
			}
		}
		o = outcome{ID: c.ID, Error: fmt.Sprintf("panic: %v", r)}
	}()
	if err == nil {
		o, err = evaluate(ctx, c)
	}
	if err != nil {
		return outcome{ID: c.ID, Error: err.Error()}
	}
	return o
}

// watchCrashes makes a panic in one of the scheduler's own goroutines a message instead of the end of the program.
func watchCrashes() <-chan any {
	crashes := make(chan any, 1)
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, r any) {
		select {
		case crashes <- r:
		default:
		}
	})
	return crashes
}
