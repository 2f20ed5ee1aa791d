// The page that shows the stream of the log in a browser (operations contract, section 2.4).
import { randomBytes } from 'node:crypto'

/** Creates the page with a nonce of its own, without which a browser runs none of its script. */
export function createViewerPage(): { headers: string[]; body: string } {
  const nonce = randomBytes(16).toString('base64')
  const policy = [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `script-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ]
  const headers = [
    'content-security-policy',
    policy.join('; '),
    'x-content-type-options',
    'nosniff',
    'referrer-policy',
    'no-referrer',
    'cache-control',
    'no-store'
  ]
  return { headers, body: page.replace('NONCE', nonce) }
}

/** A browser keeps this many pieces of the log; older ones leave the page. */
const PIECES_MAX = 2000

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Gateway log</title>
<style>
body { font: 14px system-ui, sans-serif; margin: 1rem; }
.warning { background: #b00020; color: #fff; padding: .75rem 1rem; font-weight: 600; }
form { margin: 1rem 0; }
#log { border: 1px solid #888; height: 75vh; overflow: auto; padding: .5rem; font: 12px ui-monospace, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; }
</style>
</head>
<body>
<p class="warning" role="alert">Logs may hold sensitive data. This viewer is for development only and is off in PROD.</p>
<form id="connection">
<label>API key <input id="key" type="password" autocomplete="off"></label>
<button id="connect">Connect</button>
<span id="state"></span>
</form>
<div id="log" tabindex="0"></div>
<script nonce="NONCE">
const log = document.getElementById('log')
const state = document.getElementById('state')
let connection = new AbortController()

function append(text) {
  const piece = document.createElement('div')
  piece.textContent = text
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40
  log.append(piece)
  while (log.childElementCount > ${PIECES_MAX}) log.firstElementChild.remove()
  if (isAtEnd) log.scrollTop = log.scrollHeight
}

async function connect(key) {
  connection.abort()
  const own = new AbortController()
  connection = own
  state.textContent = 'Connecting'
  try {
    const headers = key === '' ? {} : { 'x-api-key': key }
    const response = await fetch('/logs/stream', { headers, signal: own.signal })
    if (!response.ok) {
      state.textContent = 'Refused with status ' + response.status
      append(await response.text())
      return
    }
    state.textContent = 'Connected'
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      append(value)
    }
    state.textContent = 'Ended'
  } catch (error) {
    if (connection === own) state.textContent = 'Connection lost'
  }
}

document.getElementById('connection').addEventListener('submit', event => {
  event.preventDefault()
  connect(document.getElementById('key').value)
})
</script>
</body>
</html>
`
