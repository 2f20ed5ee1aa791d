// Sends requests for a provider without TLS through a proxy, which takes them in the absolute form
// (RFC 9112, section 3.2.2).

import type { Dispatcher } from 'undici'
import type { ProxyServer } from './proxy.ts'
import { proxyStatusError } from './proxy-error.ts'

/** The part of the HTTP client's dispatchers that an exchange uses. */
export type RequestDispatcher = Pick<Dispatcher, 'dispatch'>

/**
 * Returns a dispatcher for the requests of one origin.
 * @param connections to the proxy.
 */
export function createForwardDispatcher(
  origin: string,
  { authorization }: ProxyServer,
  connections: RequestDispatcher
): RequestDispatcher {
  const host = ['host', new URL(origin).host]
  const credential = authorization === undefined ? [] : ['proxy-authorization', authorization]
  return {
    dispatch({ path, headers, ...options }, handler) {
      const own = Array.isArray(headers) ? headers : []
      const forwarded = {
        ...options,
        origin,
        path: origin + path,
        // The list of the request is not changed: another attempt may send it again.
        headers: [...host, ...own, ...credential]
      }
      return connections.dispatch(forwarded, new ForwardHandler(handler))
    }
  }
}

/** Passes everything on, and makes the proxy's demand for another credential a failure of the connection. */
class ForwardHandler implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context)
  }

  onBodySent(chunk: Buffer): void {
    this.#handler.onBodySent?.(chunk)
  }

  onRequestSent(): void {
    this.#handler.onRequestSent?.()
  }

  onResponseStart(...head: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>): void {
    const [controller, status] = head
    if (status === 407) controller.abort(proxyStatusError(status))
    else this.#handler.onResponseStart?.(...head)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#handler.onResponseData?.(controller, chunk)
  }

  onResponseEnd(...end: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseEnd']>>): void {
    this.#handler.onResponseEnd?.(...end)
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.#handler.onResponseError?.(controller, error)
  }
}
