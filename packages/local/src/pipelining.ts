import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Budgets } from "@board/core/config/budgets";

interface Connection {
  isAnswering: boolean;
  waiting: { request: IncomingMessage; response: ServerResponse }[];
}

type Limits = Pick<Budgets, "connection_waiting_requests" | "waiting_requests">;

/**
 * Answers the requests of a connection in order. Node passes on all requests that a client sends without waiting (pipelining), so
 * one connection could run thousands. A connection beyond the limits is closed and reported to `onClosed`. A refusal would not
 * help, because it would also wait in memory for the first answer.
 */
export function answerInOrder(listener: RequestListener, limits: Limits, onClosed: () => void): RequestListener {
  const { connection_waiting_requests: max, waiting_requests: max_in_all } = limits;
  const connections = new WeakMap<Socket, Connection>();
  let waiting_in_all = 0;

  function connectionOf(socket: Socket): Connection {
    const known = connections.get(socket);
    if (known) return known;
    const connection: Connection = { isAnswering: false, waiting: [] };
    connections.set(socket, connection);
    socket.once("close", () => {
      waiting_in_all -= connection.waiting.length;
      connection.waiting = [];
    });
    return connection;
  }

  function answer(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    connection.isAnswering = true;
    response.once("close", () => {
      connection.isAnswering = false;
      if (request.socket.destroyed) return;
      const next = connection.waiting.shift();
      if (!next) return;
      waiting_in_all--;
      answer(connection, next.request, next.response);
    });
    listener(request, response);
  }

  const isOver = (count: number, limit: number) => limit > 0 && count >= limit;

  return (request, response) => {
    const { socket } = request;
    // Node passes on the requests that it has already read, even after their connection was closed.
    if (socket.destroyed) return;
    const connection = connectionOf(socket);
    if (!connection.isAnswering) return answer(connection, request, response);
    if (isOver(connection.waiting.length, max) || isOver(waiting_in_all, max_in_all)) {
      socket.destroy();
      return onClosed();
    }
    waiting_in_all++;
    connection.waiting.push({ request, response });
  };
}
