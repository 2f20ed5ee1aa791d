// Which calls are chat calls, on every wire of this upstream.

const endings = ['/chat/completions', '/v1/messages', ':generateContent', ':streamGenerateContent', '/v1/responses']

/** True for the path of a chat call. */
export function isChatPath(path: string): boolean {
  return endings.some(ending => path.endsWith(ending))
}
