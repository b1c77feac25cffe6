package containerstop

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// runHook runs a preStop hook for at most the grace period. It does not wait for a slower hook.
func (s *Stopper) runHook(ctx context.Context, target Target, manner *Manner) error {
	ctx, cancel := context.WithTimeout(ctx, manner.Grace)
	defer cancel()
	handler := manner.PreStop
	switch {
	case handler.Exec != nil:
		_, stderr, err := target.Runtime.ExecSync(ctx, target.ID, handler.Exec.Command, manner.Grace)
		if err != nil {
			return fmt.Errorf("run %q: %w: %s", handler.Exec.Command, err, stderr)
		}
		return nil
	case handler.HTTPGet != nil:
		return get(ctx, handler.HTTPGet, target.PodIP, manner.Ports)
	case handler.Sleep != nil:
		select {
		case <-ctx.Done():
		case <-s.Clock.After(time.Duration(handler.Sleep.Seconds) * time.Second):
		}
		return nil
	case handler.TCPSocket != nil:
		return nil // The API accepts tcpSocket hooks, but Kubernetes does not run them.
	default:
		return errors.New("the hook has none of exec, httpGet and sleep")
	}
}

// client trusts any certificate, as the kubelet does for hooks. The hook only talks to the Pod itself.
var client = &http.Client{Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // See above.
	// The client uses no proxy, because Pods are inside the cluster.
	DisableKeepAlives: true,
}}

// get sends the request of an HTTP hook. A status of 400 or higher is an error.
func get(ctx context.Context, action *corev1.HTTPGetAction, podIP string, ports []corev1.ContainerPort) error {
	port, err := portNumber(action.Port, ports)
	if err != nil {
		return err
	}
	host := action.Host
	if host == "" {
		host = podIP
	}
	scheme := strings.ToLower(string(action.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	path, query, _ := strings.Cut(action.Path, "?")
	address := url.URL{Scheme: scheme, Host: net.JoinHostPort(host, strconv.Itoa(port)), Path: path, RawQuery: query}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("get %s: %w", &address, err)
	}
	for _, header := range action.HTTPHeaders {
		if strings.EqualFold(header.Name, "Host") {
			request.Host = header.Value
			continue
		}
		request.Header.Add(header.Name, header.Value)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("get %s: %w", &address, err)
	}
	defer response.Body.Close() //nolint:errcheck // Nothing of it is read.
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("get %s: %s", &address, response.Status)
	}
	return nil
}

// portNumber returns the number of a port. It looks up a port name among the ports of the container.
func portNumber(port intstr.IntOrString, ports []corev1.ContainerPort) (int, error) {
	if port.Type == intstr.Int {
		return port.IntValue(), nil
	}
	for i := range ports {
		if ports[i].Name == port.StrVal {
			return int(ports[i].ContainerPort), nil
		}
	}
	number, err := strconv.Atoi(port.StrVal)
	if err != nil {
		return 0, fmt.Errorf("the container has no port named %q", port.StrVal)
	}
	return number, nil
}
