// A chart of hours: a canvas by uPlot, with a legend that follows the pointer.
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import type { Series } from '../data/figures.ts'

export interface ChartProps {
  readonly title: string
  /** Said to readers who do not see the canvas. */
  readonly summary: string
  readonly hours: number[]
  readonly series: readonly Series[]
  readonly format: (value: unknown) => string
  /** Changes when the colors have changed. */
  readonly theme: string
}

const HEIGHT = 190
const SERIES_COLORS = 6

export function Chart({ title, summary, hours, series, format, theme }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    const color = (name: string) => readColor(element, name)
    const axis = { stroke: color('--muted'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } }
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        cursor: { drag: { x: false, y: false } },
        scales: { y: { range: (_plot, _min, max) => [0, Math.max(max ?? 0, 1) * 1.1] } },
        axes: [axis, { ...axis, size: 60, values: (_plot, values) => values.map(format) }],
        series: [
          { value: (_plot, value) => (value === null ? '' : new Date(value * 1000).toLocaleString()) },
          ...series.map(({ label }, index) => ({
            label,
            stroke: color(`--series-${(index % SERIES_COLORS) + 1}`),
            width: 2,
            // An hour with no neighbors would be no line.
            points: { show: hours.length <= 48, size: 6 },
            value: (_plot: uPlot, value: number | null) => format(value)
          }))
        ]
      },
      [hours, ...series.map(({ values }) => values)],
      element
    )
    const resizing = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }))
    resizing.observe(element)
    return () => {
      resizing.disconnect()
      plot.destroy()
    }
  }, [hours, series, format, theme])
  return (
    <figure class="card chart">
      <figcaption>{title}</figcaption>
      <div role="img" aria-label={`${title}. ${summary}`} ref={frame} />
    </figure>
  )
}

/** A canvas needs the color itself, and a custom property may hold one for each scheme. */
function readColor(element: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
