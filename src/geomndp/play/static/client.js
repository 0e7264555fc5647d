// Requests and answers over any wire: {send, close, onmessage, onopen, onclose}.

const FIRST_PAUSE = 300; // milliseconds until a lost connection is tried again
const LAST_PAUSE = 4000;

/** A socket that connects again whenever it is lost. */
export function connectSocket(address) {
  const wire = { onmessage() {}, onopen() {}, onclose() {}, send() {}, close() {} };
  let pause = FIRST_PAUSE;
  let ended = false;
  let socket = null;
  const open = () => {
    socket = new WebSocket(address);
    socket.onopen = () => {
      pause = FIRST_PAUSE;
      wire.onopen();
    };
    socket.onmessage = (event) => wire.onmessage(JSON.parse(event.data));
    socket.onclose = () => {
      if (ended) return;
      wire.onclose();
      setTimeout(open, pause);
      pause = Math.min(2 * pause, LAST_PAUSE);
    };
  };
  wire.send = (message) => socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));
  wire.close = () => {
    ended = true;
    socket.close();
  };
  wire.start = open;
  return wire;
}

/** The wire of a notebook's widget: messages of one view of its model. */
export function connectWidget(model) {
  const page = crypto.randomUUID?.() ?? String(Math.random());
  const wire = { onmessage() {}, onopen() {}, onclose() {} };
  const receive = (content) => content.page === page && wire.onmessage(content.message);
  wire.send = (message) => model.send({ page, message });
  wire.close = () => model.off("msg:custom", receive);
  wire.start = () => {
    model.on("msg:custom", receive);
    model.send({ page, message: null });
    wire.onopen();
  };
  return wire;
}

/** Numbers requests, so that an answer finds what asked for it, and old ones are left aside. */
export class Client {
  constructor(wire, handlers) {
    this.wire = wire;
    this.handlers = handlers;
    this.number = 0;
    this.newest = 0; // request for a picture
    this.drawn = 0; // number and time of the request that the picture answers
    this.asked = new Map();
    this.waiting = new Map();
    this.scheduled = null;
    wire.onmessage = (message) => this.receive(message);
    wire.onopen = () => handlers.open();
    wire.onclose = () => {
      for (const { reject } of this.waiting.values()) reject(new Error("expected an answer, got none: the connection was lost"));
      this.waiting.clear();
      handlers.lost();
    };
  }

  /** Ask for a picture of a state; calls within one frame of the screen become one. */
  ask(state) {
    this.scheduled ??= { state, since: performance.now() };
    const first = this.pending === undefined;
    this.pending = state;
    if (first) {
      setTimeout(() => {
        const latest = this.pending;
        this.pending = undefined;
        this.newest = this.send({ type: "ask", state: latest });
        this.asked.set(this.newest, this.scheduled.since);
        this.scheduled = null;
      }, 16);
    }
  }

  /** Send a request whose answer is not a picture. */
  request(message) {
    return new Promise((resolve, reject) => {
      this.waiting.set(this.send(message), { resolve, reject });
    });
  }

  send(message) {
    this.number += 1;
    this.wire.send({ ...message, number: this.number });
    return this.number;
  }

  receive(message) {
    const { type, number } = message;
    const waiting = this.waiting.get(number);
    if (waiting) {
      this.waiting.delete(number);
      if (type === "error") waiting.reject(new Error(message.sentence));
      else waiting.resolve(message);
    } else if (type === "hello") this.handlers.hello(message);
    else if (type === "computing") this.handlers.computing(message);
    else if (type === "error") (number === null || number === this.newest) && this.handlers.error(message.sentence);
    else if (type === "picture" && number >= this.drawn) {
      this.drawn = number;
      const since = this.asked.get(number);
      for (const old of this.asked.keys()) if (old < number) this.asked.delete(old);
      this.handlers.picture(message, since, number === this.newest);
    }
  }
}
