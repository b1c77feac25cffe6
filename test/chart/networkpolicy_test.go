package chart

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNetworkPolicies is who reaches each program. Nothing limits what the programs reach: etcd, names, the cluster's API.
func TestNetworkPolicies(t *testing.T) {
	nodes := networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}
	monitoring := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "monitoring"}}}
	setNodes := []string{"--set", "networkPolicy.apiserverFrom[0].ipBlock.cidr=10.0.0.0/8"}
	setMonitoring := []string{"--set", "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.a=monitoring"}
	type peers = []networkingv1.NetworkPolicyPeer
	tests := map[string]struct {
		args                   []string
		apiserver, metrics     peers
		nobodyReachesTheOthers bool
	}{
		"no peers":            {nil, nil, nil, true},
		"the control plane":   {setNodes, peers{nodes}, nil, true},
		"who reads metrics":   {setMonitoring, nil, peers{monitoring}, false},
		"both, on their port": {append(setNodes, setMonitoring...), peers{nodes, monitoring}, peers{monitoring}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := render(t, append([]string{"--set", "networkPolicy.enabled=true,daemon.hostNetwork=false"}, test.args...)...)
			specs := pods(t, all)
			for program, port := range map[string]int32{"kruise-apiserver": 6443, "kruise-controller-manager": 8080, "kruise-daemon": 10221} {
				policy := read[networkingv1.NetworkPolicy](t, all, "NetworkPolicy", "kruise-system/"+program)
				assert.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, policy.Spec.PolicyTypes, program)
				if program != "kruise-apiserver" && test.nobodyReachesTheOthers {
					assert.Empty(t, policy.Spec.Ingress, program)
					continue
				}
				require.Len(t, policy.Spec.Ingress, 1, program)
				rule := policy.Spec.Ingress[0]
				require.Len(t, rule.Ports, 1, program)
				assert.Equal(t, port, rule.Ports[0].Port.IntVal, program)
				assert.Equal(t, port, specs[program].Containers[0].Ports[0].ContainerPort, "%s listens there", program)
				want := test.metrics
				if program == "kruise-apiserver" {
					want = test.apiserver
				}
				assert.Equal(t, want, rule.From, program)
			}
		})
	}
}

// Network policies do not apply in the network of the node, so one for the agent would promise what it cannot keep.
func TestAgentInTheNetworkOfTheNodeHasNoNetworkPolicy(t *testing.T) {
	all := render(t, "--set", "networkPolicy.enabled=true")
	assert.Contains(t, all["NetworkPolicy"], "kruise-system/kruise-apiserver")
	assert.NotContains(t, all["NetworkPolicy"], "kruise-system/kruise-daemon")
}
