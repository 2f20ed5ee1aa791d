// What needs attention, the worst first; or that nothing does.
import { formatClock } from '../../data/format.ts'
import { useGatewayState } from '../../state.ts'

export function Attention() {
  const state = useGatewayState()
  if (state?.value === undefined) return null
  const { problems, readiness, health, providers, keys } = state.value
  if (problems.length === 0) {
    const checked = [
      readiness !== undefined && 'the gateway is ready',
      providers !== undefined && `${providers.length} ${providers.length === 1 ? 'provider' : 'providers'}`,
      keys !== undefined && keys.data?.length > 0 && `${keys.data.length} keys`,
      health !== undefined && 'the sinks'
    ].filter(one => one !== false)
    if (checked.length === 0) return null
    return (
      <p class="card attention calm">
        <span class="dot good" /> Nothing needs attention: {checked.join(', ')}.
      </p>
    )
  }
  return (
    <section class="card attention" aria-labelledby="attention-title">
      <h3 id="attention-title">
        Needs attention <span class="hint">at {formatClock(state.atMs ?? 0, Date.now())}</span>
      </h3>
      <ul>
        {problems.map(({ id, level, title, detail, action, href }) => (
          <li key={id} class={level}>
            <span class={`dot ${level}`} />
            <span class="hidden-text">{level === 'bad' ? 'Failing:' : 'Warning:'}</span>
            <b>{title}</b>
            <span class="attention-detail">{detail}</span>
            <a href={href}>{action}</a>
          </li>
        ))}
      </ul>
    </section>
  )
}
