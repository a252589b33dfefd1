"""The `docker` backend of the sandbox: programs in hardened containers, on any engine that DOCKER_HOST names.

box         the Box and its sessions           container  one container: its calls and replies
engine      the SDK: make, find, remove        channel    the socket to a container's standard streams
frames      what goes over it                  relay      what runs inside: a local box of the tier "fork"
options     sandboxes/docker.toml              policy     the container's system calls
build       the image                          rootfs     its files, from this machine's Python
"""
