// Put into every page before its own scripts: what opens a connection that is no request is not there, so that a page
// notices at once. It is the network namespace that keeps such connections from going anywhere.
for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport", "EventSource"]) delete window[name];
