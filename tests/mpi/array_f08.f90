! A two-dimensional array, distributed in blocks over the processes: written and read back by `use mpi_f08`, with
! non-blocking calls too.
! usage: array_f08 FILE
program array_f08
  use mpi_f08
  implicit none
  integer, parameter :: rows = 61, columns = 47
  integer :: error, rank, processes, wrong, i, j
  type(MPI_File) :: file
  type(MPI_Datatype) :: filetype, own
  type(MPI_Request) :: request
  integer :: grid(2), place(2), sizes(2), parts(2), starts(2)
  type(MPI_Status) :: status
  integer(kind=MPI_OFFSET_KIND) :: begin, length
  double precision, allocatable, asynchronous :: block(:, :), back(:, :)
  character(len=1024) :: name

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, processes, error)
  call get_command_argument(1, name)
  grid = 0
  call MPI_Dims_create(processes, 2, grid, error)
  place = (/ mod(rank, grid(1)), rank / grid(1) /)
  sizes = (/ rows, columns /)
  starts = place * sizes / grid
  parts = (place + 1) * sizes / grid - starts

  allocate(block(0:parts(1) + 1, 0:parts(2) + 1))   ! with a border that is not written
  allocate(back(0:parts(1) + 1, 0:parts(2) + 1))
  block = -1d0
  back = -1d0
  do j = 1, parts(2)
    do i = 1, parts(1)
      block(i, j) = (starts(1) + i) + 1000d0 * (starts(2) + j)
    end do
  end do

  call MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, filetype, error)
  call MPI_Type_commit(filetype, error)
  call MPI_Type_create_subarray(2, parts + 2, parts, (/ 1, 1 /), MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, own, error)
  call MPI_Type_commit(own, error)

  call MPI_File_open(MPI_COMM_WORLD, trim(name), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
  call check(error, 'open')
  begin = 0
  call MPI_File_set_view(file, begin, MPI_DOUBLE_PRECISION, filetype, 'native', MPI_INFO_NULL, error)
  call check(error, 'set_view')
  call MPI_File_iwrite_all(file, block, 1, own, request, error)
  call check(error, 'iwrite_all')
  call MPI_Wait(request, status, error)
  call check(error, 'wait')
  call MPI_File_sync(file, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_File_read_at_all(file, begin, back, 1, own, status, error)
  call check(error, 'read_at_all')
  wrong = count(back /= block)
  call MPI_File_get_size(file, length, error)
  if (length /= rows * columns * 8) wrong = wrong + 1
  call MPI_File_close(file, error)
  call check(error, 'close')
  call MPI_Type_free(filetype, error)
  call MPI_Type_free(own, error)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a, i0)', 'wrong ', wrong
  call MPI_Finalize(error)

contains
  subroutine check(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: length_of_text, ignored
    if (code == MPI_SUCCESS) return
    call MPI_Error_string(code, text, length_of_text, ignored)
    print '(4a)', 'FAILED ', what, ': ', text(1:length_of_text)
    call MPI_Abort(MPI_COMM_WORLD, 3, ignored)
  end subroutine check
end program array_f08
