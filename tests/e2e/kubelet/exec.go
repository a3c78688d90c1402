package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/klog/v2"
	utilexec "k8s.io/utils/exec"

	"k8s.io/kubernetes/pkg/kubelet/cm"
)

// commands answers the few commands that specs run in a container to read its limits: there is no container, but what it
// was given is known. Whatever else is run in one is not found.
type commands struct {
	lister corelisters.PodLister
}

// serve answers commands at an address, and returns the port to ask.
func (c *commands) serve(address string) (int32, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return 0, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return 0, err
	}
	listener, err := net.Listen("tcp", address+":0")
	if err != nil {
		return 0, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", c.exec)
	server := &http.Server{Handler: mux, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}}
	go func() { klog.ErrorS(server.ServeTLS(listener, "", ""), "Commands are not answered any more") }()
	return int32(listener.Addr().(*net.TCPAddr).Port), nil
}

func (c *commands) exec(w http.ResponseWriter, req *http.Request) {
	options, err := remotecommand.NewOptions(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pod := req.PathValue("namespace") + "/" + req.PathValue("pod")
	remotecommand.ServeExec(w, req, c, pod, "", req.PathValue("container"), req.Form["command"], options,
		time.Minute, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

// ExecInContainer is remotecommand's Executor.
func (c *commands) ExecInContainer(_ context.Context, key, _, container string, command []string, _ io.Reader,
	out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	namespace, name, _ := strings.Cut(key, "/")
	pod, err := c.lister.Pods(namespace).Get(name)
	if err != nil {
		return err
	}
	answer, known := answer(pod, container, command[len(command)-1])
	if !known {
		return utilexec.CodeExitError{Err: fmt.Errorf("there are no containers: %q", command), Code: 127}
	}
	_, err = fmt.Fprintln(out, answer)
	return err
}

// answer is the first line of a file of cgroups, by what the status says that the container has.
func answer(pod *v1.Pod, container, command string) (string, bool) {
	given := v1.ResourceRequirements{}
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == container && status.Resources != nil {
			given = *status.Resources
		}
	}
	switch command {
	case "mount -t cgroup2":
		return "cgroup2 on /sys/fs/cgroup type cgroup2", true
	case "head -n 1 /sys/fs/cgroup/memory.max":
		if limit := given.Limits.Memory().Value(); limit > 0 {
			return fmt.Sprint(limit), true
		}
		return "max", true
	case "head -n 1 /sys/fs/cgroup/cpu.max":
		quota := "max"
		if limit := given.Limits.Cpu().MilliValue(); limit > 0 {
			quota = fmt.Sprint(cm.MilliCPUToQuota(limit, cm.QuotaPeriod))
		}
		return fmt.Sprintf("%s %d", quota, cm.QuotaPeriod), true
	case "head -n 1 /sys/fs/cgroup/cpu.weight":
		shares := cm.MilliCPUToShares(given.Requests.Cpu().MilliValue())
		return fmt.Sprint(1 + (shares-2)*9999/262142), true
	}
	return "", false
}
