// A course of counts, as small as a word: for comparison only, the numbers stand beside it.
const WIDTH = 108
const HEIGHT = 18

export function Spark({ values }: { values: readonly number[] }) {
  const top = Math.max(1, ...values)
  const step = WIDTH / Math.max(1, values.length)
  const bar = Math.max(1, step - (step > 3 ? 1 : 0))
  return (
    <svg class="spark" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      {values.map((value, index) => {
        const height = value === 0 ? 0 : Math.max(2, (HEIGHT * value) / top)
        return <rect key={index} x={index * step} y={HEIGHT - height} width={bar} height={height} />
      })}
    </svg>
  )
}
