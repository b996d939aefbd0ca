# The node itself: the base, Kubernetes' binaries, and pod networking. Images are put into its containerd afterwards.
ARG BASE
FROM ${BASE}
ARG KUBERNETES_VERSION
COPY bin/kubeadm bin/kubelet bin/kubectl /usr/bin/
COPY bin/crictl /usr/local/bin/
COPY default-cni.yaml default-storage.yaml /kind/manifests/
COPY cni.conflist.template /kind/cni.conflist.template
# containerd fills in the template when the node has got its podCIDR. From 1.35 on kubelet refuses cgroup v1 unless told
# otherwise; on v2 the flag does nothing.
RUN chmod 0755 /usr/bin/kubeadm /usr/bin/kubelet /usr/bin/kubectl /usr/local/bin/crictl \
 && printf '%s' "${KUBERNETES_VERSION}" > /kind/version \
 && printf '\n[plugins."io.containerd.grpc.v1.cri".cni]\n  bin_dir = "/opt/cni/bin"\n  conf_dir = "/etc/cni/net.d"\n  conf_template = "/kind/cni.conflist.template"\n' \
      >> /etc/containerd/config.toml \
 && sed -i 's#^KUBELET_EXTRA_ARGS=.*#& --fail-cgroupv1=false#' /etc/default/kubelet
