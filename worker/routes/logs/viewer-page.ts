// The page that shows the stream of the log in a browser (operations.md 2.4).
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

/** The stream begins with so many earlier lines. */
const EARLIER_LINES = 500
/** A browser keeps this many lines of the log; older ones leave the page. */
const LINES_MAX = 2000

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gateway log</title>
<style>
:root { color-scheme: light dark; }
body { font: 14px system-ui, sans-serif; margin: 1rem; }
.warning { background: #b00020; color: #fff; padding: .75rem 1rem; font-weight: 600; }
form { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; margin: 1rem 0; }
#log { border: 1px solid #888; height: 75vh; overflow: auto; padding: .5rem; font: 12px ui-monospace, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; }
</style>
</head>
<body>
<p class="warning" role="alert">Logs may hold sensitive data. This viewer is for development and is off in PROD.</p>
<form id="connection">
<label>API key <input id="key" type="password" autocomplete="off"></label>
<label>Level <select id="level"><option value="">all</option><option>INFO</option><option>WARNING</option>
<option>ERROR</option></select></label>
<button>Connect</button>
<span id="state" role="status"></span>
</form>
<div id="log" tabindex="0" aria-label="Log"></div>
<script nonce="NONCE">
const find = id => document.getElementById(id)
const log = find('log')
let connection = new AbortController()

function showState(text) {
  find('state').textContent = text
}

function append(text) {
  const line = document.createElement('div')
  line.textContent = text
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40
  log.append(line)
  while (log.childElementCount > ${LINES_MAX}) log.firstElementChild.remove()
  if (isAtEnd) log.scrollTop = log.scrollHeight
}

/** Shows the events of a text, and returns what follows the last whole one. */
function showEvents(text) {
  const frames = text.split('\\r\\n\\r\\n')
  const rest = frames.pop()
  for (const frame of frames) {
    const data = frame.split('\\r\\n').filter(field => field.startsWith('data: ')).map(field => field.slice(6))
    if (data.length > 0) append(data.join('\\n'))
  }
  return rest
}

async function connect(key, level) {
  connection.abort()
  // The stream begins with the earlier lines again.
  log.replaceChildren()
  const own = new AbortController()
  connection = own
  showState('Connecting')
  try {
    const headers = key === '' ? {} : { 'x-api-key': key }
    const query = '?lines=${EARLIER_LINES}' + (level === '' ? '' : '&level=' + level)
    const response = await fetch('/logs/stream' + query, { headers, signal: own.signal })
    if (!response.ok) {
      showState('Refused with status ' + response.status)
      return
    }
    showState('Connected')
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      rest = showEvents(rest + value)
    }
    showState('Ended')
  } catch {
    if (connection === own) showState('Connection lost')
  }
}

find('connection').addEventListener('submit', event => {
  event.preventDefault()
  connect(find('key').value, find('level').value)
})
find('level').addEventListener('change', () => connect(find('key').value, find('level').value))

// The key that the page itself was opened with.
const given = new URLSearchParams(location.search)
find('key').value = given.get('key') ?? given.get('x-api-key') ?? ''
connect(find('key').value, '')
</script>
</body>
</html>
`
